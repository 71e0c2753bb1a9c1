#include "daemon/metrics/http_site.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/http_json.h"
#include "daemon/metrics/http_library.h"
#include "daemon/metrics/page.h"
#include "daemon/net/http_address.h"

#define TYPE_TEXT        "text/plain; charset=utf-8"
#define TYPE_JSON        "application/json; charset=utf-8"
#define TYPE_PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The page runs /status.js only, fetches from this server only, and is shown in no frame. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri "                                                                                    \
    "'none'; "                                                                                     \
    "form-action 'none'; frame-ancestors 'none'"

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy", POLICY},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    {"Vary", "Accept"},
    {"Connection", "close"},
};

/* ---- responses ---- */

static struct MHD_Response *dress(struct MHD_Response *response, const char *type) {
    if (!response)
        return NULL;
    (void)leat_mhd.add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        (void)leat_mhd.add_response_header(response, headers[i].name, headers[i].value);
    return response;
}

static struct MHD_Response *respond_static(const void *bytes, size_t n_bytes, const char *type) {
    return dress(leat_mhd.create_response_from_buffer(n_bytes, (void *)(uintptr_t)bytes,
                                                      MHD_RESPMEM_PERSISTENT),
                 type);
}

/* Takes the text; NULL if the text failed. A slow client may keep the response for long, so its
 * unused room is given back. */
static struct MHD_Response *respond_text(struct leat_text *take_text, const char *type) {
    char *shrunk = take_text->n_bytes ? realloc(take_text->data, take_text->n_bytes) : NULL;
    struct MHD_Response *response = NULL;

    if (shrunk)
        take_text->data = shrunk;
    if (take_text->data && !take_text->failed)
        response = leat_mhd.create_response_from_buffer_with_free_callback(take_text->n_bytes,
                                                                           take_text->data, free);
    if (!response)
        free(take_text->data);
    return dress(response, type);
}

static enum MHD_Result send_and_drop(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response) {
    enum MHD_Result result;

    if (!response)
        return MHD_NO; /* the connection ends */
    result = leat_mhd.queue_response(connection, status, response);
    leat_mhd.destroy_response(response);
    return result;
}

/* The connection ends with the response. Further requests on it are ignored. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status,
                              const char *text) {
    struct MHD_Response *response = respond_static(text, strlen(text), TYPE_TEXT);

    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)leat_mhd.add_response_header(response, "Allow", "GET, HEAD");
    if (response && status == MHD_HTTP_UNAUTHORIZED)
        (void)leat_mhd.add_response_header(response, "WWW-Authenticate", "Bearer realm=\"leat\"");
    return send_and_drop(connection, status, response);
}

/* ---- pages ---- */

static bool is_stale(const struct leat_http_site *site, uint64_t now_ns) {
    return !site->reading || now_ns - site->reading->at_ns > LEAT_HTTP_STALE_NS;
}

static enum MHD_Result answer_metrics(struct leat_http_site *site,
                                      struct MHD_Connection *connection, uint64_t now_ns) {
    const char *accept = leat_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
    bool is_open = accept && strstr(accept, "application/openmetrics-text");
    enum leat_metrics_format format = is_open ? LEAT_METRICS_OPENMETRICS : LEAT_METRICS_PROMETHEUS;
    struct leat_text text = {.data = NULL};

    if (is_stale(site, now_ns))
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "the daemon's main loop has not answered for ten seconds\n");
    if (!site->metrics[format]) {
        leat_metrics_render(&text, site->reading, format);
        site->metrics[format] = respond_text(&text, is_open ? TYPE_OPENMETRICS : TYPE_PROMETHEUS);
    }
    return site->metrics[format]
               ? leat_mhd.queue_response(connection, MHD_HTTP_OK, site->metrics[format])
               : MHD_NO;
}

static enum MHD_Result answer_history(struct leat_http_site *site,
                                      struct MHD_Connection *connection, uint64_t now_ns) {
    const char *after =
        leat_mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
    const char *tens = leat_mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "tens");
    bool wants_tens = tens && strcmp(tens, "1") == 0;
    struct leat_text text = {.data = NULL};

    if (after && (!after[0] || strspn(after, "0123456789") != strlen(after)))
        return refuse(connection, MHD_HTTP_BAD_REQUEST,
                      "the parameter `after` must be the value `at` of a sample\n");
    leat_http_json(&text, &site->history, site->reading,
                   wants_tens ? LEAT_HISTORY_TENS : LEAT_HISTORY_SECONDS,
                   after ? strtoull(after, NULL, 10) : 0, now_ns, is_stale(site, now_ns));
    return send_and_drop(connection, MHD_HTTP_OK, respond_text(&text, TYPE_JSON));
}

static enum MHD_Result answer_page(struct MHD_Connection *connection, const char *path) {
    for (const struct leat_page_file *file = leat_page_files; file->path; file++)
        if (strcmp(file->path, path) == 0)
            return send_and_drop(connection, MHD_HTTP_OK,
                                 respond_static(file->bytes, file->n_bytes, file->type));
    return refuse(connection, MHD_HTTP_NOT_FOUND,
                  "this address does not exist: use /, /metrics or /history.json\n");
}

static bool has_body(struct MHD_Connection *connection) {
    const char *length =
        leat_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    return (length && strcmp(length, "0") != 0) ||
           leat_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

/* The page has no figures, and asks for the token. So it needs none. */
static bool has_token(const struct leat_http_site *site, struct MHD_Connection *connection) {
    return leat_http_token_fits(
        site->token, leat_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
        leat_mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"));
}

enum MHD_Result leat_http_site_answer(struct leat_http_site *site,
                                      struct MHD_Connection *connection, bool may_look,
                                      const char *method, const char *path, uint64_t now_ns) {
    bool has_figures = strcmp(path, "/metrics") == 0 || strcmp(path, "/history.json") == 0;

    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
    if (has_body(connection))
        return refuse(connection, MHD_HTTP_BAD_REQUEST, "requests may not have a body\n");
    if (site->is_ip && !leat_http_host_is_local(
                           leat_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
        return refuse(connection, MHD_HTTP_FORBIDDEN,
                      "the header Host of the request does not name this machine: use 127.0.0.1\n");
    if (!may_look)
        return refuse(connection, MHD_HTTP_FORBIDDEN,
                      "your user must be in one of the groups of the setting `control_groups`\n");
    if (has_figures && !has_token(site, connection))
        return refuse(connection, MHD_HTTP_UNAUTHORIZED,
                      "this request needs the token of http_token_file: send Authorization: Bearer "
                      "TOKEN, or ?token=TOKEN\n");
    if (strcmp(path, "/metrics") == 0)
        return answer_metrics(site, connection, now_ns);
    if (strcmp(path, "/history.json") == 0)
        return answer_history(site, connection, now_ns);
    return answer_page(connection, path);
}

/* ---- readings ---- */

static void forget_reading(struct leat_http_site *site) {
    for (size_t i = 0; i < 2; i++) {
        if (site->metrics[i])
            leat_mhd.destroy_response(site->metrics[i]);
        site->metrics[i] = NULL;
    }
    free(site->reading);
    site->reading = NULL;
}

void leat_http_site_take(struct leat_http_site *site, struct leat_reading *take_reading) {
    forget_reading(site);
    site->reading = take_reading;
    (void)leat_history_add(&site->history, take_reading);
}

int leat_http_site_init(struct leat_http_site *site, bool is_ip,
                        const struct leat_http_token *token, uint64_t history_bytes) {
    int r;

    *site = (struct leat_http_site){.is_ip = is_ip, .token = token};
    r = leat_history_init(&site->history, history_bytes);
    site->has_history = r == 0;
    return r;
}

void leat_http_site_deinit(struct leat_http_site *site) {
    forget_reading(site);
    if (site->has_history)
        leat_history_deinit(&site->history);
    site->has_history = false;
}
