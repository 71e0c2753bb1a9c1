/* listener.h: accepts connections on one socket, and survives running out of descriptors.
 *
 * libuv's own listener closes every waiting client when descriptors run out; here polling stops
 * instead (a level-triggered loop would spin), the backlog keeps who waits, and polling goes on
 * when a session has closed or after 100 ms. A listener with a reserve (the control socket's) gives
 * up the spare descriptor that it keeps for that case, so that operators always get in.
 *
 * Users who connect more often than door.h allows are refused. A turn of the loop refuses a bounded
 * number of them, and then the listener rests for 5 ms: the kernel makes the others wait in
 * connect(), and refusals take a few hundredths of the loop's time at most. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/net/door.h"
#include "proto/base/error.h"

struct leat_listener {
    int fd; /* -1: not in use */
    int reserve_fd;
    bool has_reserve, is_paused, is_resting, has_handles;
    bool is_passed; /* who connects while nobody listens waits in it */
    uv_poll_t poll;
    uv_timer_t timer;
    char *path; /* the socket file, if it is ours to remove */
    uint64_t device, inode;
    void *owner;
    /* Takes over the descriptor. -EMFILE, -ENFILE: it could not for want of descriptors. */
    int (*on_accept)(struct leat_listener *listener, int take_fd);
    void (*on_exhausted)(struct leat_listener *listener);
    struct leat_door *door;    /* shared with other listeners */
    const uint64_t *n_at_once; /* that a user may make besides those of door.h */
    /* Takes over the descriptor of a user who connects too often. err NULL: it is told nothing. */
    void (*on_refuse)(struct leat_listener *listener, int take_fd, uid_t uid,
                      const struct leat_error *err);
};

/* Makes the socket `path` of that type (SOCK_SEQPACKET or SOCK_STREAM): removes a file that nobody
 * listens to, and makes the directory. group: who may connect if the daemon is root's and the group
 * exists; else only its own user. NULL: everybody, whose rights are looked at later. */
int leat_listener_bind(struct leat_listener *listener, const char *path, int type,
                       const char *group, struct leat_error *err);
/* Uses a socket that a service manager made. */
int leat_listener_adopt(struct leat_listener *listener, int take_fd, int type,
                        struct leat_error *err);
int leat_listener_start(struct leat_listener *listener, uv_loop_t *loop, bool with_reserve);
/* A descriptor was freed. */
void leat_listener_resume(struct leat_listener *listener);
/* Closes handles, socket and file; once is enough, twice does no harm. */
void leat_listener_stop(struct leat_listener *listener);
