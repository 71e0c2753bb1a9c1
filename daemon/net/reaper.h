/* reaper.h: closes sockets of clients without ever blocking the loop.
 *
 * A client can leave a descriptor in the queue of its socket whose last close blocks for as long as
 * the client likes (a TCP socket with SO_LINGER). Reading that packet or closing the socket would
 * make the loop pay. So a socket is shut down first (nothing can arrive any more) and its queue is
 * read until it is empty or a descriptor shows up; an empty one is closed at once, the other is
 * handed to a thread that does nothing else. Where the kernel lets us refuse descriptors
 * (SO_PASSRIGHTS, Linux 6.16) they never arrive. A turn of the loop closes a bounded number of
 * sockets, however many clients leave at once. Owner: loop; the thread sees only the number of the
 * descriptor to close.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct leat_reaper_item {
    struct leat_reaper_item *next;
    int fd;
    void (*on_closed)(struct leat_reaper_item *item);
};

struct leat_reaper {
    uv_thread_t thread;
    bool has_thread, has_poll, is_busy;
    int to_thread[2], from_thread[2]; /* pipes of descriptor numbers */
    uv_poll_t poll;
    uv_idle_t turn; /* runs while sockets are pending */
    bool has_turn;
    struct leat_reaper_queue {
        struct leat_reaper_item *first, **last;
    } pending, blocking; /* to be closed by the loop; by the thread */
};

int leat_reaper_init(struct leat_reaper *reaper, uv_loop_t *loop);
void leat_reaper_stop(struct leat_reaper *reaper);
bool leat_reaper_is_idle(const struct leat_reaper *reaper);
/* Nothing may be waiting. */
void leat_reaper_deinit(struct leat_reaper *reaper);

/* No descriptors are taken from this client, if the kernel can do that: whether it can. */
bool leat_reaper_refuse_descriptors(int socket);

/* Closes item->fd in a later turn of the loop, and calls on_closed then. */
void leat_reaper_close(struct leat_reaper *reaper, struct leat_reaper_item *item);
/* The same where nobody waits for it. */
void leat_reaper_dispose(struct leat_reaper *reaper, int take_fd);
