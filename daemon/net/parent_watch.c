/* parent_watch.c: see parent_watch.h and pidfd_open(2). */
#include "daemon/net/parent_watch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/calls.h"

int leat_parent_watch_open(struct leat_parent_watch *parent, int64_t pid, const char *directory,
                           struct leat_error *err) {
    if (pid == 0)
        return 0;
    parent->directory = directory;
    parent->pidfd = leat_process_open((pid_t)pid);
    if (parent->pidfd < 0)
        return leat_error_set(err, -errno, "--end-with %lld: cannot watch this process: %s",
                              (long long)pid,
                              errno == ESRCH ? "there is no such process" : strerror(errno));
    return 0;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct leat_parent_watch *parent = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    parent->on_end(parent);
}

int leat_parent_watch_start(struct leat_parent_watch *parent, uv_loop_t *loop) {
    int r;

    if (parent->pidfd < 0)
        return 0;
    r = uv_poll_init(loop, &parent->poll, parent->pidfd);
    if (r < 0)
        return r;
    parent->is_watched = true;
    parent->poll.data = parent;
    return uv_poll_start(&parent->poll, UV_READABLE, on_readable);
}

static void on_closed(uv_handle_t *handle) {
    struct leat_parent_watch *parent = handle->data;

    (void)close(parent->pidfd);
    parent->pidfd = -1;
}

void leat_parent_watch_stop(struct leat_parent_watch *parent) {
    if (parent->directory)
        (void)rmdir(parent->directory); /* only an empty one goes */
    parent->directory = NULL;
    if (parent->is_watched)
        uv_close((uv_handle_t *)&parent->poll, on_closed);
    else if (parent->pidfd >= 0)
        (void)close(parent->pidfd);
    if (!parent->is_watched)
        parent->pidfd = -1;
    parent->is_watched = false;
}
