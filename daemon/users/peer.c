/* peer.c: see peer.h, pidfd_open(2) and SO_PEERPIDFD (Linux 6.5). */
#include "daemon/users/peer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/calls.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int leat_peer_identify(struct leat_peer *peer, int socket) {
    struct ucred credentials;
    socklen_t size = sizeof(credentials);

    *peer = (struct leat_peer){.pidfd = -1};
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return -errno;
    peer->pid = credentials.pid;
    peer->uid = credentials.uid;
    peer->gid = credentials.gid;
    return 0;
}

/* The pidfd of the process that connected. Only older kernels need the process number for that. If
 * the process had ended and its number were another's, we would watch a stranger. The session ends
 * with the connection or the process, whichever ends first. */
static int open_pidfd(const struct leat_peer *peer, int socket) {
    int fd;
    socklen_t size = sizeof(fd);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0)
        return fd;
    if (errno != ENOPROTOOPT)
        return -errno;
    if (peer->pid <= 0)
        return -EOPNOTSUPP;
    fd = leat_process_open(peer->pid);
    return fd < 0 ? -errno : fd;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct leat_peer *peer = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    peer->is_dead = true;
    peer->on_death(peer);
}

int leat_peer_watch(struct leat_peer *peer, uv_loop_t *loop, int socket,
                    void (*on_death)(struct leat_peer *peer)) {
    int fd = open_pidfd(peer, socket), r;

    if (fd == -EMFILE || fd == -ENFILE)
        return fd;
    if (fd < 0)
        return 0; /* it has ended, or is not visible from here: the connection's end must do */
    peer->on_death = on_death;
    r = uv_poll_init(loop, &peer->poll, fd);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    peer->pidfd = fd;
    peer->has_poll = true;
    peer->poll.data = peer;
    return uv_poll_start(&peer->poll, UV_READABLE, on_poll);
}

static void on_poll_closed(uv_handle_t *handle) {
    struct leat_peer *peer = handle->data;

    (void)close(peer->pidfd);
    peer->pidfd = -1;
    peer->on_closed(peer);
}

void leat_peer_close(struct leat_peer *peer, void (*on_closed)(struct leat_peer *peer)) {
    if (peer->is_closing)
        return;
    peer->is_closing = true;
    peer->on_closed = on_closed;
    if (peer->has_poll)
        uv_close((uv_handle_t *)&peer->poll, on_poll_closed);
    else
        on_closed(peer);
}
