/* peer.h: the process at the other end of a socket, and whether it still lives.
 *
 * The end of a connection is no proof that a trainer is gone: a forked worker may keep the socket
 * open after the trainer died, and a trainer may close the socket and still read its batches. A
 * pidfd is proof. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct leat_peer {
    pid_t pid; /* 0: of another pid namespace */
    uid_t uid;
    gid_t gid;
    int pidfd; /* -1: not available; then only the connection's end is known */
    bool is_dead;
    bool has_poll, is_closing;
    uv_poll_t poll;
    void (*on_death)(struct leat_peer *peer);
    void (*on_closed)(struct leat_peer *peer);
};

/* Fills pid, uid and gid. 0 or -errno. */
int leat_peer_identify(struct leat_peer *peer, int socket);

/* Watches the process; on_death is called once, in a later turn of the loop. */
int leat_peer_watch(struct leat_peer *peer, uv_loop_t *loop, int socket,
                    void (*on_death)(struct leat_peer *peer));
/* Stops watching; on_closed is called when the memory may be freed, perhaps before this returns. */
void leat_peer_close(struct leat_peer *peer, void (*on_closed)(struct leat_peer *peer));
