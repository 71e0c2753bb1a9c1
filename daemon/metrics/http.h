/* http.h: the HTTP listener: metrics for Prometheus and a status page, on a thread of its own.
 *
 * The thread knows nothing of the loop's but readings, which come once a second through a pipe and
 * are the thread's from then on. So what is asked of it costs the loop nothing, however often. It
 * has a bounded number of connections, each with bounded memory and time; who comes when all are
 * taken takes the place of the one that has been there for longest. Requests only look: GET and
 * HEAD. Owner: loop, of what is not said to be the thread's.
 */
#pragma once

#include <stdatomic.h>
#include <uv.h>

#include "daemon/config/rights.h"
#include "daemon/metrics/reading.h"
#include "daemon/net/http_address.h"
#include "daemon/net/http_token.h"
#include "daemon/net/listener.h"

#define LEAT_HTTP_MAX_CONNECTIONS 24
/* That it may take besides its history: an answer for each connection, for the most part. */
#define LEAT_HTTP_BYTES (UINT64_C(4) << 20)

struct leat_http_thread;

/* Who may look: each of what is asked for. */
struct leat_http_access {
    bool is_ip; /* and who asks must name this machine; else the right to look is asked for: */
    struct leat_rights rights;
    struct leat_http_token token;
};

struct leat_http {
    struct leat_listener listener; /* only of which the socket is; fd -1: there is no HTTP */
    uv_mutex_t mutex;              /* of the rights, which a reload changes */
    bool has_mutex;
    struct leat_http_access access;
    int to_thread[2];           /* pointers to readings; NULL: it is to end */
    _Atomic uint32_t n_pending; /* readings on the way */
    uv_thread_t uv_thread;
    struct leat_http_thread *thread;
    bool has_thread, is_stopping;
};

void leat_http_init(struct leat_http *http);
/* Makes the socket that http_listen says. group: as of the control socket. */
int leat_http_bind(struct leat_http *http, const char *text, const char *group,
                   struct leat_error *err);
/* Uses a socket that a service manager made. */
int leat_http_adopt(struct leat_http *http, int take_fd, struct leat_error *err);
/* Who may look at a Unix socket: those who may on the control socket. */
void leat_http_set_rights(struct leat_http *http, const struct leat_rights *rights);
/* Nobody may look without the token in that file. Before it starts. */
int leat_http_set_token(struct leat_http *http, const char *path, struct leat_error *err);
bool leat_http_is_open(const struct leat_http *http);

/* history_bytes: of its copy of the history. Without a socket it does nothing. */
int leat_http_start(struct leat_http *http, uint64_t history_bytes, struct leat_error *err);
/* Hands a copy to the thread; without memory, or if the thread is behind, it gets none. */
void leat_http_publish(struct leat_http *http, const struct leat_reading *reading);
/* The thread is to end, soon; its socket is gone. */
void leat_http_stop(struct leat_http *http);
/* Waits until it has. */
void leat_http_deinit(struct leat_http *http);
