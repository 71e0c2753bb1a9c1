/* socket_closer.h: closes sockets of clients without blocking the loop.
 *
 * A client can leave a descriptor in its socket's queue whose last close blocks for as long as the
 * client likes, for instance a TCP socket with SO_LINGER. Reading that packet or closing the socket
 * would block the loop. So a socket is first shut down, and its queue is read until it is empty or
 * a descriptor shows up. A socket with an empty queue is closed at once, any other by a thread that
 * does nothing else. Kernels with SO_PASSRIGHTS (Linux 6.16) let us refuse descriptors altogether.
 * A turn of the loop closes a bounded number of sockets. Owner: loop; the thread sees only the
 * numbers of descriptors.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct leat_socket_closer_item {
    struct leat_socket_closer_item *next;
    int fd;
    void (*on_closed)(struct leat_socket_closer_item *item);
};

struct leat_socket_closer {
    uv_thread_t thread;
    bool has_thread, has_poll, is_busy;
    int to_thread[2], from_thread[2]; /* pipes of descriptor numbers */
    uv_poll_t poll;
    uv_idle_t turn; /* runs while sockets are pending */
    bool has_turn;
    struct leat_socket_closer_queue {
        struct leat_socket_closer_item *first, **last;
    } pending, blocking; /* for the loop; for the thread */
};

int leat_socket_closer_init(struct leat_socket_closer *closer, uv_loop_t *loop);
void leat_socket_closer_stop(struct leat_socket_closer *closer);
bool leat_socket_closer_is_idle(const struct leat_socket_closer *closer);
/* No socket may be pending. */
void leat_socket_closer_deinit(struct leat_socket_closer *closer);

/* Refuses descriptors from this client; false if the kernel cannot. */
bool leat_socket_refuse_descriptors(int socket);

/* Closes item->fd in a later turn of the loop, and calls on_closed then. */
void leat_socket_closer_close(struct leat_socket_closer *closer,
                              struct leat_socket_closer_item *item);
/* The same without a callback. */
void leat_socket_closer_dispose(struct leat_socket_closer *closer, int take_fd);
