/* lifeline.c: see lifeline.h and pidfd_open(2). */
#include "daemon/net/lifeline.h"

#include <errno.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

int leat_lifeline_open(struct leat_lifeline *lifeline, int64_t pid, const char *directory,
                       struct leat_error *err) {
    if (pid == 0)
        return 0;
    lifeline->directory = directory;
    lifeline->pidfd = pidfd_open((pid_t)pid, 0);
    if (lifeline->pidfd < 0)
        return leat_error_set(err, -errno, "--end-with %lld: %s", (long long)pid,
                              errno == ESRCH ? "there is no such process" : strerror(errno));
    return 0;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct leat_lifeline *lifeline = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    lifeline->on_end(lifeline);
}

int leat_lifeline_watch(struct leat_lifeline *lifeline, uv_loop_t *loop) {
    int r;

    if (lifeline->pidfd < 0)
        return 0;
    r = uv_poll_init(loop, &lifeline->poll, lifeline->pidfd);
    if (r < 0)
        return r;
    lifeline->is_watched = true;
    lifeline->poll.data = lifeline;
    return uv_poll_start(&lifeline->poll, UV_READABLE, on_readable);
}

static void on_closed(uv_handle_t *handle) {
    struct leat_lifeline *lifeline = handle->data;

    (void)close(lifeline->pidfd);
    lifeline->pidfd = -1;
}

void leat_lifeline_stop(struct leat_lifeline *lifeline) {
    if (lifeline->directory)
        (void)rmdir(lifeline->directory); /* only an empty one goes */
    lifeline->directory = NULL;
    if (lifeline->is_watched)
        uv_close((uv_handle_t *)&lifeline->poll, on_closed);
    else if (lifeline->pidfd >= 0)
        (void)close(lifeline->pidfd);
    if (!lifeline->is_watched)
        lifeline->pidfd = -1;
    lifeline->is_watched = false;
}
