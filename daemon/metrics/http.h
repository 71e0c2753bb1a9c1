/* http.h: the HTTP listener: metrics for Prometheus and a status page, on a thread of its own.
 *
 * The thread only sees readings, which come once a second through a pipe and are the thread's from
 * then on. So requests cost the loop nothing, however many there are. The number of connections is
 * bounded, and so are the memory and the time of each; a new one takes the place of the oldest when
 * there is no other. Requests are GET and HEAD. Owner: loop.
 */
#pragma once

#include "daemon/metrics/http_thread.h"
#include "daemon/metrics/reading.h"
#include "daemon/net/http_address.h"
#include "daemon/net/listener.h"

/* Memory that it may take besides its history: mostly an answer for each connection. */
#define LEAT_HTTP_BYTES (UINT64_C(4) << 20)

struct leat_http {
    struct leat_listener listener; /* only its socket is used; fd -1: HTTP is off */
    struct leat_http_shared shared;
    uv_thread_t uv_thread;
    struct leat_http_thread *thread;
    bool has_thread, is_stopping;
};

void leat_http_init(struct leat_http *http);
/* Makes the socket of the setting http_listen. group: that of the control socket. */
int leat_http_bind(struct leat_http *http, const char *text, const char *group,
                   struct leat_error *err);
/* Uses a socket that a service manager made. */
int leat_http_adopt(struct leat_http *http, int take_fd, struct leat_error *err);
/* Readers of the control socket may read a Unix socket, too. */
void leat_http_set_rights(struct leat_http *http, const struct leat_rights *rights);
/* Figures are shown only to requests with the token in that file. Call it before the start. */
int leat_http_set_token(struct leat_http *http, const char *path, struct leat_error *err);
bool leat_http_is_open(const struct leat_http *http);

/* history_bytes: the limit of its own history. Does nothing without a socket. */
int leat_http_start(struct leat_http *http, uint64_t history_bytes, struct leat_error *err);
/* Hands a copy to the thread, unless memory is out or the thread lags behind. */
void leat_http_publish(struct leat_http *http, const struct leat_reading *reading);
/* Tells the thread to end, and closes the socket. */
void leat_http_stop(struct leat_http *http);
/* Waits for the thread to end. */
void leat_http_deinit(struct leat_http *http);
