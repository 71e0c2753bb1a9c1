/* http_thread.h: the thread of the HTTP listener, and the state that it shares with the loop. */
#pragma once

#include <stdatomic.h>
#include <uv.h>

#include "daemon/config/rights.h"
#include "daemon/net/http_token.h"

#define LEAT_HTTP_MAX_CONNECTIONS 24

struct leat_http_thread;

/* Set by the loop; `rights` may change while the thread runs, under the mutex. */
struct leat_http_shared {
    bool is_ip;                /* Requests must name this machine; other requests need a right. */
    bool has_mutex;            /* Without it only root and the daemon's user may read. */
    uv_mutex_t mutex;          /* of the rights */
    struct leat_rights rights; /* of a Unix socket */
    struct leat_http_token token;
    int pipe[2];                /* pointers to readings; NULL ends the thread */
    _Atomic uint32_t n_pending; /* readings in the pipe */
};

/* Duplicates the listening socket. `shared` must outlive the thread. 0 or -errno. Owner: loop. */
int leat_http_thread_new(struct leat_http_shared *shared, int listen_fd, uint64_t history_bytes,
                         struct leat_http_thread **ret_thread);
/* Runs until a NULL comes. Owner: the thread. */
void leat_http_thread_run(struct leat_http_thread *thread);
/* After it has ended. Owner: loop. */
struct leat_http_thread *leat_http_thread_free(struct leat_http_thread *thread);
