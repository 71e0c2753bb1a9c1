/* delivery_shared.c: a message of a SOCK_SEQPACKET socket is one packet, or several joined ones.
 * A batch is a notice that its slot of the ring is filled.
 *
 * Releases are received many at a time (joined, and by recvmmsg). Where the kernel cannot refuse
 * descriptors they are peeked at first, many at a time too (SO_PEEK_OFF moves on from message to
 * message): what peeking saw without a descriptor may be received. The ring's descriptor goes out
 * once a generation, in front of its first batch, and never before the trainer has spoken:
 * descriptors in flight count against the daemon. Notices are sent many at a time (joined, or by
 * sendmmsg).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/net/socket_closer.h"
#include "daemon/trainer/delivery.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/container_of.h"

#define MAX_TURNS    4
#define MAX_RECEIVED 32 /* messages */

_Static_assert(LEAT_SESSION_OUTBOX <= LEAT_PACKET_JOINED_MAX, "an outbox is one message");

/* The packets of a message. */
struct message {
    struct leat_packet packets[LEAT_PACKET_JOINED_MAX];
    size_t n;
};

struct shared {
    struct leat_session_delivery base;
    int fd;
    bool wants_write, is_closing;
    bool needs_peek;     /* descriptors could arrive */
    uint64_t generation; /* of the ring that the trainer got last */
    uv_poll_t poll;
    struct leat_socket_closer_item closer_item;
};

static void on_poll(uv_poll_t *poll, int status, int events);

static void update_poll(struct shared *shared) {
    if (!shared->is_closing)
        (void)uv_poll_start(&shared->poll, UV_READABLE | (shared->wants_write ? UV_WRITABLE : 0),
                            on_poll);
}

static void receive_failed(struct shared *shared, int r) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (r == -EPROTO)
        leat_error_set(&err, r,
                       "a packet has the wrong size, or contains a file descriptor, which trainers "
                       "may not send");
    else if (r < 0)
        leat_error_set(&err, r, "receiving: %s", strerror(-r));
    leat_session_on_end(shared->base.session, &err);
}

/* Handles the end of the packets that were received: none, a hangup, or an error. */
enum tail { TAIL_NONE, TAIL_END_OF_FILE, TAIL_IMPROPER };

/* Sets the number of packets. False: it is no message of whole packets without descriptors. */
static bool read_message(const struct mmsghdr *received, struct message *message) {
    message->n = received->msg_len / sizeof(*message->packets);
    return message->n > 0 && received->msg_len % sizeof(*message->packets) == 0 &&
           !(received->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

/* Receives messages of packets without payload or descriptors. Returns how many, or -errno. */
static int receive_some(struct shared *shared, struct message *messages, int flags, unsigned n_most,
                        enum tail *ret_tail) {
    size_t n_packets = shared->base.session->joins ? LEAT_PACKET_JOINED_MAX : 1;
    struct mmsghdr received[MAX_RECEIVED];
    struct iovec parts[MAX_RECEIVED];
    int r, n = 0;

    for (unsigned i = 0; i < n_most; i++) {
        parts[i] = (struct iovec){.iov_base = messages[i].packets,
                                  .iov_len = n_packets * sizeof(*messages[i].packets)};
        received[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
    }
    do {
        r = recvmmsg(shared->fd, received, n_most, MSG_DONTWAIT | flags, NULL);
    } while (r < 0 && (errno == EINTR || errno == ECONNRESET)); /* see leat_packet_receive */
    if (r < 0)
        return -errno;
    while (n < r && read_message(&received[n], &messages[n]))
        n++;
    *ret_tail = n == r ? TAIL_NONE : received[n].msg_len == 0 ? TAIL_END_OF_FILE : TAIL_IMPROPER;
    return n;
}

static int set_peek_offset(const struct shared *shared, int offset) {
    return setsockopt(shared->fd, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset));
}

/* Returns how many messages may be received at once, or -errno. 0: the next must be examined alone.
 * Peeking must then begin at the front again, since an offset would pass over that message. */
static int peek_many(struct shared *shared, struct message *messages) {
    enum tail tail;
    int n;

    if (!shared->needs_peek)
        return MAX_RECEIVED;
    if (set_peek_offset(shared, 0) < 0)
        return 0;
    n = receive_some(shared, messages, MSG_PEEK, MAX_RECEIVED, &tail);
    if (n <= 0)
        (void)set_peek_offset(shared, -1);
    return n;
}

enum { LOOK_AT_ONE = 1, IS_EMPTY = 2 };

/* Handles the packets in the queue while batches flow. 0, -EAGAIN, LOOK_AT_ONE: the next packet
 * must be examined alone, or IS_EMPTY: there are no more, unless the peer has closed. */
static int receive_many(struct shared *shared) {
    struct message messages[MAX_RECEIVED];
    enum tail tail = TAIL_NONE;
    int n = peek_many(shared, messages);

    if (n > 0)
        n = receive_some(shared, messages, 0, (unsigned)n, &tail);
    else if (n == 0)
        return LOOK_AT_ONE;
    if (n < 0) {
        if (n != -EAGAIN)
            receive_failed(shared, n);
        return n;
    }
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < messages[i].n && !shared->is_closing; k++)
            leat_session_on_packet(shared->base.session, &messages[i].packets[k], NULL);
    if (tail != TAIL_NONE)
        receive_failed(shared, tail == TAIL_IMPROPER ? -EPROTO : 0);
    return n < MAX_RECEIVED ? IS_EMPTY : 0;
}

/* While batches flow no packet has a payload, and no buffer is given: a longer packet is cut, which
 * is an error. */
static int receive_one(struct shared *shared) {
    struct leat_session *session = shared->base.session;
    uint8_t *buffer = session->sessions->payload;
    struct leat_packet packet;
    int r = leat_packet_receive(shared->fd, &packet,
                                leat_session_expects_payload(session) ? buffer : NULL, NULL, 0);

    if (r == -EAGAIN)
        return r;
    if (r <= 0)
        receive_failed(shared, r);
    else
        leat_session_on_packet(session, &packet, buffer);
    return 0;
}

/* has_closed: the loop will not tell of packets that are left. */
static void receive_packets(struct shared *shared, bool has_closed) {
    for (int i = 0; i < MAX_TURNS && !shared->is_closing; i++) {
        int r = leat_session_is_serving(shared->base.session) ? receive_many(shared) : LOOK_AT_ONE;

        if (r == LOOK_AT_ONE)
            r = receive_one(shared);
        if (r < 0 || (r == IS_EMPTY && !has_closed))
            return;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct shared *shared = poll->data;

    if (status < 0) { /* the peer closed, but packets that it sent before can still be received */
        receive_packets(shared, true);
        if (!shared->is_closing)
            receive_failed(shared, status);
        return;
    }
    if (events & UV_WRITABLE) {
        shared->wants_write = false;
        update_poll(shared);
        leat_session_on_writable(shared->base.session);
    }
    if (events & UV_READABLE)
        receive_packets(shared, false);
}

static int shared_open(struct leat_session *session, int take_fd,
                       struct leat_session_delivery **ret_delivery) {
    struct shared *shared = calloc(1, sizeof(*shared));
    int r;

    if (!shared)
        return -ENOMEM;
    shared->base = (struct leat_session_delivery){.ops = &leat_delivery_shared, .session = session};
    shared->fd = take_fd;
    shared->needs_peek = !session->refuses_descriptors;
    r = uv_poll_init(session->sessions->env->loop, &shared->poll, take_fd);
    if (r < 0) {
        free(shared);
        return r;
    }
    shared->poll.data = shared;
    update_poll(shared);
    *ret_delivery = &shared->base;
    return 0;
}

static int shared_send(struct leat_session_delivery *delivery, const struct leat_packet *packet,
                       const void *payload) {
    return leat_packet_send(((struct shared *)delivery)->fd, packet, payload, -1, 0);
}

static int shared_start(struct leat_session_delivery *delivery, uint32_t window) {
    (void)delivery;
    (void)window;
    return 0;
}

static int send_ring(struct shared *shared, const struct leat_slot_ring *ring) {
    struct leat_packet packet = {
        .kind = LEAT_PACKET_RING,
        .ring = {.generation = ring->generation,
                 .slot_bytes = ring->slot_bytes,
                 .n_slots = ring->n_slots},
    };
    int r = leat_packet_send(shared->fd, &packet, NULL, ring->fd, 0);

    if (r == 0)
        shared->generation = ring->generation;
    return r;
}

/* Sends outputs that need no new ring. Returns how many were sent, or -errno. */
static int send_many(struct shared *shared, const struct leat_feed_output *outputs, size_t n) {
    struct leat_packet packets[LEAT_SESSION_OUTBOX];
    struct mmsghdr messages[LEAT_SESSION_OUTBOX];
    struct iovec parts[LEAT_SESSION_OUTBOX];
    int r;

    for (size_t i = 0; i < n; i++)
        leat_delivery_output_packet(&outputs[i], &packets[i]);
    if (shared->base.session->joins) {
        r = leat_packet_send_joined(shared->fd, packets, n, 0);
        return r < 0 ? r : (int)n;
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct iovec){.iov_base = &packets[i], .iov_len = sizeof(packets[i])};
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
    }
    do {
        r = sendmmsg(shared->fd, messages, (unsigned)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

static bool needs_ring(const struct shared *shared, const struct leat_feed_output *output) {
    return !output->is_end && output->item->base.generation != shared->generation;
}

static int shared_deliver(struct leat_session_delivery *delivery,
                          const struct leat_feed_output *outputs, size_t n_outputs) {
    struct shared *shared = (struct shared *)delivery;
    size_t n_done = 0, n;
    int r = 0;

    while (n_done < n_outputs && r >= 0) {
        if (needs_ring(shared, &outputs[n_done])) {
            r = send_ring(shared, outputs[n_done].item->ring);
            if (r < 0)
                break;
        }
        for (n = 1; n_done + n < n_outputs && !needs_ring(shared, &outputs[n_done + n]); n++)
            ;
        r = send_many(shared, outputs + n_done, n);
        if (r > 0)
            n_done += (size_t)r;
    }
    if (r < 0 && r != -EAGAIN && n_done == 0)
        return r;
    if (n_done < n_outputs) { /* what was sent counts; the next try gets the error again */
        shared->wants_write = true;
        update_poll(shared);
    }
    return (int)n_done;
}

static void on_fd_closed(struct leat_socket_closer_item *item) {
    struct shared *shared = LEAT_CONTAINER_OF(item, struct shared, closer_item);

    leat_session_on_delivery_closed(shared->base.session);
}

static void on_poll_closed(uv_handle_t *handle) {
    struct shared *shared = handle->data;

    shared->closer_item =
        (struct leat_socket_closer_item){.fd = shared->fd, .on_closed = on_fd_closed};
    leat_socket_closer_close(shared->base.session->sessions->env->closer, &shared->closer_item);
}

static void shared_close(struct leat_session_delivery *delivery) {
    struct shared *shared = (struct shared *)delivery;

    if (shared->is_closing)
        return;
    shared->is_closing = true;
    uv_close((uv_handle_t *)&shared->poll, on_poll_closed);
}

static void shared_free(struct leat_session_delivery *delivery) {
    free(delivery);
}

const struct leat_delivery_ops leat_delivery_shared = {
    .name = "shared",
    .keeps_slot = true,
    .open = shared_open,
    .send = shared_send,
    .start = shared_start,
    .deliver = shared_deliver,
    .close = shared_close,
    .free = shared_free,
};
