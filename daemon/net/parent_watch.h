/* parent_watch.h: ends a private daemon together with the process that it belongs to.
 *
 * The process is watched by its pidfd, so it may be killed, and need not be our parent. The
 * directory of the sockets is removed then, if it is empty. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "proto/base/error.h"

struct leat_parent_watch {
    int pidfd; /* -1: the daemon belongs to no process */
    bool is_watched;
    uv_poll_t poll;
    const char *directory; /* to be removed; NULL: none */
    void (*on_end)(struct leat_parent_watch *parent);
    void *owner;
};

#define LEAT_PARENT_WATCH_INIT                                                                     \
    (struct leat_parent_watch) {                                                                   \
        .pidfd = -1                                                                                \
    }

/* pid 0: the daemon belongs to no process. -ESRCH: the process has ended. */
int leat_parent_watch_open(struct leat_parent_watch *parent, int64_t pid, const char *directory,
                           struct leat_error *err);
/* Calls on_end once, on the loop, when the process has ended. */
int leat_parent_watch_start(struct leat_parent_watch *parent, uv_loop_t *loop);
/* Called once the sockets are removed; a second call does nothing. */
void leat_parent_watch_stop(struct leat_parent_watch *parent);
