/* http_site.h: the pages of the HTTP listener:
 *
 *   /              the status page, with /status.js and /status.css, from this server alone
 *   /metrics       the latest reading for Prometheus, in the format that it accepts
 *   /history.json  the history after a time (after=NS of a sample's `at`), of seconds or (tens=1)
 *                  of ten seconds, with the latest reading
 *
 * Owner: the thread of the listener.
 */
#pragma once

#include <microhttpd.h>

#include "daemon/metrics/history.h"
#include "daemon/metrics/metrics.h"
#include "daemon/net/http_token.h"

/* Prometheus gets an error rather than older figures. */
#define LEAT_HTTP_STALE_NS UINT64_C(10000000000)

struct leat_http_site {
    bool is_ip;
    const struct leat_http_token *token;
    bool has_history;
    struct leat_history history;
    struct leat_reading *reading;    /* the latest; NULL: none yet */
    struct MHD_Response *metrics[2]; /* texts of it by format; NULL: not asked for yet */
};

/* token: requests for figures must have it, unless it is NULL; it must outlive the site. */
int leat_http_site_init(struct leat_http_site *site, bool is_ip,
                        const struct leat_http_token *token, uint64_t history_bytes);
void leat_http_site_deinit(struct leat_http_site *site);
void leat_http_site_take(struct leat_http_site *site, struct leat_reading *take_reading);
enum MHD_Result leat_http_site_answer(struct leat_http_site *site,
                                      struct MHD_Connection *connection, bool may_look,
                                      const char *method, const char *path, uint64_t now_ns);
