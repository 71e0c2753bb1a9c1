/* lifeline.h: a daemon that belongs to a process ends with it, however that ends, and then leaves
 * nothing behind: not even the directory of its sockets, if nothing else is in there.
 *
 * The process is watched by its pidfd, so it may be killed, and need not be our parent. Owner:
 * loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "proto/base/error.h"

struct leat_lifeline {
    int pidfd; /* -1: the daemon belongs to nobody */
    bool is_watched;
    uv_poll_t poll;
    const char *directory; /* goes with the sockets; NULL: it stays */
    void (*on_end)(struct leat_lifeline *lifeline);
    void *owner;
};

#define LEAT_LIFELINE_INIT                                                                         \
    (struct leat_lifeline) {                                                                       \
        .pidfd = -1                                                                                \
    }

/* pid 0: nobody's. -ESRCH: there is no such process (any more). */
int leat_lifeline_open(struct leat_lifeline *lifeline, int64_t pid, const char *directory,
                       struct leat_error *err);
/* on_end is called once, on the loop, when the process has ended. */
int leat_lifeline_watch(struct leat_lifeline *lifeline, uv_loop_t *loop);
/* Once the sockets are gone; twice does no harm. */
void leat_lifeline_stop(struct leat_lifeline *lifeline);
