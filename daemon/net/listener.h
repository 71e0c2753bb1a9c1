/* listener.h: accepts connections on one socket, and survives running out of descriptors.
 *
 * libuv's own listener closes every waiting client when descriptors run out. Here polling stops
 * instead, because a level-triggered loop would spin. Clients wait in the backlog until something
 * ends, or for 100 ms. The control socket's listener keeps a spare descriptor, which it gives up in
 * that case, so that operators always get in.
 *
 * Users who connect more often than rate_limit.h allows are refused. After a bounded number of
 * refusals in a turn the listener rests for 5 ms. The kernel makes the others wait in connect(),
 * so refusals take a few hundredths of the loop's time at most. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/net/rate_limit.h"
#include "proto/base/error.h"

struct leat_listener {
    int fd; /* -1: not in use */
    int reserve_fd;
    bool has_reserve, is_paused, has_handles;
    bool is_passed; /* by a service manager: clients wait in it for the next daemon */
    uv_poll_t poll;
    uv_timer_t timer;
    char *path; /* the socket file, if it is ours to remove */
    uint64_t device, inode;
    void *owner;
    /* Takes over the descriptor. -EMFILE, -ENFILE: descriptors are short. */
    int (*on_accept)(struct leat_listener *listener, int take_fd);
    void (*on_exhausted)(struct leat_listener *listener);
    struct leat_rate_limit *limit; /* shared with other listeners */
    const uint64_t *n_at_once;     /* connections of a user besides those of rate_limit.h */
    /* Takes over the descriptor of a user who connects too often. err may be NULL. */
    void (*on_refuse)(struct leat_listener *listener, int take_fd, uid_t uid,
                      const struct leat_error *err);
};

/* Makes the socket `path` of that type (SOCK_SEQPACKET or SOCK_STREAM) and its directory, and
 * removes a socket file without a listener. group: its members may connect if the daemon is root's
 * and the group exists, else only the daemon's own user. NULL: every user may connect. */
int leat_listener_bind(struct leat_listener *listener, const char *path, int type,
                       const char *group, struct leat_error *err);
/* Uses a socket that a service manager made. */
int leat_listener_adopt(struct leat_listener *listener, int take_fd, int type,
                        struct leat_error *err);
int leat_listener_start(struct leat_listener *listener, uv_loop_t *loop, bool with_reserve);
/* Accepts again at once, if it was paused for want of descriptors. */
void leat_listener_resume(struct leat_listener *listener);
/* Closes the handles and the socket and removes its file; a second call does nothing. */
void leat_listener_stop(struct leat_listener *listener);
