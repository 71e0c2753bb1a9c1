/* channel.c: one uv_poll, one decoder, one queue. */
#include "daemon/net/channel.h"
#include "proto/base/container_of.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES       (4U << 10) /* at least; more where a large frame arrives */
#define MAX_READS_A_TURN 4

static void update_poll(struct leat_channel *channel);

static void turn(struct leat_channel *channel, bool begins) {
    if (channel->ops->on_turn)
        channel->ops->on_turn(channel, begins);
}

static void end(struct leat_channel *channel, const struct leat_error *err) {
    if (channel->has_ended || channel->is_closing)
        return;
    channel->has_ended = true;
    update_poll(channel);
    channel->ops->on_end(channel, err);
}

static void fail(struct leat_channel *channel, int code, const char *what) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, code, "%s: %s", what, strerror(-code));
    end(channel, &err);
}

/* Peeks before it reads, because bytes that come with a descriptor are never received
 * (socket_closer.h). Peeking stops at the first bytes that carry one, so bytes that were seen
 * without MSG_CTRUNC may be read. 1, 0 at the end of file, -EAGAIN, -errno. */
static int receive(struct leat_channel *channel) {
    struct iovec part;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    uint8_t *space;
    size_t size;
    ssize_t n;

    if (leat_frame_decoder_space(&channel->decoder, READ_BYTES, &space, &size) < 0)
        return -ENOMEM;
    part = (struct iovec){.iov_base = space, .iov_len = size};
    do {
        n = recvmsg(channel->fd, &message, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    if (message.msg_flags & MSG_CTRUNC)
        return -EPROTO;
    do {
        n = recv(channel->fd, space, (size_t)n, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    leat_frame_decoder_filled(&channel->decoder, (size_t)n);
    return 1;
}

/* A channel that has ended may still say why. */
static bool may_send(const struct leat_channel *channel) {
    return !channel->is_closing && !channel->failure;
}

static bool may_deliver(const struct leat_channel *channel) {
    return channel->n_pauses == 0 && !channel->has_ended && may_send(channel);
}

static void deliver_frames(struct leat_channel *channel) {
    while (may_deliver(channel)) {
        struct leat_error err = LEAT_ERROR_INIT;
        const uint8_t *frame;
        size_t n_bytes;
        int r = leat_frame_decoder_next(&channel->decoder, &frame, &n_bytes, &err);

        if (r < 0)
            end(channel, &err);
        if (r <= 0)
            return;
        channel->ops->on_frame(channel, frame, n_bytes);
    }
}

static void on_readable(struct leat_channel *channel) {
    for (int i = 0; i < MAX_READS_A_TURN && may_deliver(channel); i++) {
        int r = receive(channel);

        if (r == -EAGAIN)
            return;
        if (r == 0) {
            end(channel, &LEAT_ERROR_INIT);
            return;
        }
        if (r < 0) {
            fail(channel, r,
                 r == -EPROTO ? "the client sent a file descriptor, which is not allowed"
                              : "receiving");
            return;
        }
        deliver_frames(channel);
    }
}

static int send_some(struct leat_channel *channel, struct leat_outgoing *out) {
    struct iovec parts[2];
    struct msghdr message = {.msg_iov = parts};
    size_t n_head = out->n_sent < out->head_bytes ? out->head_bytes - out->n_sent : 0;
    size_t n_payload_sent = out->n_sent - (out->head_bytes - n_head);
    ssize_t n;

    if (n_head > 0)
        parts[message.msg_iovlen++] =
            (struct iovec){.iov_base = out->head + out->n_sent, .iov_len = n_head};
    if (out->payload_bytes > n_payload_sent)
        parts[message.msg_iovlen++] =
            (struct iovec){.iov_base = (uint8_t *)(uintptr_t)out->payload + n_payload_sent,
                           .iov_len = out->payload_bytes - n_payload_sent};
    do {
        n = sendmsg(channel->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    out->n_sent += (size_t)n;
    channel->queued_bytes -= (size_t)n;
    return out->n_sent == out->head_bytes + out->payload_bytes;
}

static void pop_outgoing(struct leat_channel *channel) {
    struct leat_outgoing *out = channel->first;

    channel->first = out->next;
    if (!channel->first)
        channel->last = &channel->first;
    channel->queued_bytes -= out->head_bytes + out->payload_bytes - out->n_sent;
    out->on_sent(out);
}

/* 0, or -errno if nothing can be sent any more. */
static int send_queue(struct leat_channel *channel) {
    while (channel->first && may_send(channel)) {
        int r = send_some(channel, channel->first);

        if (r == -EAGAIN)
            return 0;
        if (r < 0)
            return r;
        if (r > 0)
            pop_outgoing(channel);
    }
    return 0;
}

static void flush(struct leat_channel *channel) {
    int r = send_queue(channel);

    if (r < 0) {
        fail(channel, r, "sending");
        return;
    }
    update_poll(channel);
    if (!channel->first && !channel->is_closing && channel->ops->on_drained)
        channel->ops->on_drained(channel);
}

/* Requests that the peer sent before are read when the rest ends; the end of file comes after them.
 */
static void look_for_end(struct leat_channel *channel) {
    bool has_frames = leat_frame_decoder_has_bytes(&channel->decoder);
    char byte;

    if (!has_frames && recv(channel->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0) {
        end(channel, &LEAT_ERROR_INIT);
        return;
    }
    channel->watches_end = false;
    update_poll(channel);
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct leat_channel *channel = poll->data;

    turn(channel, true);
    if (status < 0)
        fail(channel, status, "polling");
    else if (events & UV_WRITABLE)
        flush(channel);
    if (events & UV_READABLE)
        on_readable(channel);
    if ((events & UV_DISCONNECT) && channel->watches_end && !channel->is_closing)
        look_for_end(channel);
    turn(channel, false);
}

static void update_poll(struct leat_channel *channel) {
    int events = 0;

    if (channel->is_closing)
        return;
    if (channel->n_pauses == 0)
        events |= UV_READABLE;
    if (channel->n_pauses == 1 && channel->watches_end)
        events |= UV_DISCONNECT;
    if (channel->first)
        events |= UV_WRITABLE;
    if (events && !channel->has_ended && !channel->failure)
        (void)uv_poll_start(&channel->poll, events, on_poll);
    else
        (void)uv_poll_stop(&channel->poll);
}

static void on_later(uv_timer_t *timer) {
    struct leat_channel *channel = timer->data;

    turn(channel, true);
    if (channel->failure)
        fail(channel, channel->failure, "sending");
    else
        deliver_frames(channel);
    turn(channel, false);
}

static void do_later(struct leat_channel *channel) {
    if (!channel->is_closing)
        (void)uv_timer_start(&channel->later, on_later, 0, 0);
}

int leat_channel_open(struct leat_channel *channel, uv_loop_t *loop,
                      struct leat_socket_closer *closer, int take_fd, uint32_t frame_limit,
                      const struct leat_channel_ops *ops) {
    int r;

    *channel = (struct leat_channel){.ops = ops, .fd = take_fd, .closer = closer};
    channel->last = &channel->first;
    r = uv_poll_init(loop, &channel->poll, take_fd);
    if (r < 0)
        return r;
    (void)uv_timer_init(loop, &channel->later);
    channel->poll.data = channel->later.data = channel;
    leat_frame_decoder_init(&channel->decoder, frame_limit);
    update_poll(channel);
    return 0;
}

void leat_channel_send(struct leat_channel *channel, struct leat_outgoing *take_outgoing,
                       const void *head, size_t head_bytes) {
    assert(head_bytes <= sizeof(take_outgoing->head) - LEAT_FRAME_HEAD_BYTES);
    leat_frame_head(take_outgoing->head, (uint32_t)(head_bytes + take_outgoing->payload_bytes));
    if (head_bytes > 0)
        memcpy(take_outgoing->head + LEAT_FRAME_HEAD_BYTES, head, head_bytes);
    take_outgoing->head_bytes = LEAT_FRAME_HEAD_BYTES + head_bytes;
    take_outgoing->n_sent = 0;
    take_outgoing->next = NULL;
    *channel->last = take_outgoing;
    channel->last = &take_outgoing->next;
    channel->queued_bytes += take_outgoing->head_bytes + take_outgoing->payload_bytes;
    if (channel->first != take_outgoing || !may_send(channel))
        return;
    channel->failure = send_queue(channel);
    if (channel->failure)
        do_later(channel);
    update_poll(channel);
}

void leat_channel_pause(struct leat_channel *channel, bool is_paused) {
    assert(is_paused || channel->n_pauses > 0);
    if (is_paused)
        channel->n_pauses++;
    else
        channel->n_pauses--;
    update_poll(channel);
    if (channel->n_pauses == 0 && leat_frame_decoder_has_bytes(&channel->decoder))
        do_later(channel);
}

void leat_channel_rest(struct leat_channel *channel, bool is_resting) {
    channel->watches_end = is_resting;
    leat_channel_pause(channel, is_resting);
}

static void on_fd_closed(struct leat_socket_closer_item *item) {
    struct leat_channel *channel = LEAT_CONTAINER_OF(item, struct leat_channel, closer_item);

    leat_frame_decoder_deinit(&channel->decoder);
    channel->ops->on_closed(channel);
}

static void on_handles_closed(uv_handle_t *handle) {
    struct leat_channel *channel = handle->data;

    turn(channel, true);
    while (channel->first)
        pop_outgoing(channel);
    channel->closer_item.fd = channel->fd;
    channel->closer_item.on_closed = on_fd_closed;
    turn(channel, false);
    leat_socket_closer_close(channel->closer, &channel->closer_item);
}

static void on_poll_closed(uv_handle_t *handle) {
    struct leat_channel *channel = handle->data;

    uv_close((uv_handle_t *)&channel->later, on_handles_closed);
}

void leat_channel_close(struct leat_channel *channel) {
    if (channel->is_closing)
        return;
    channel->is_closing = true;
    uv_close((uv_handle_t *)&channel->poll, on_poll_closed);
}
