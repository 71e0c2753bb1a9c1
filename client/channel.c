/* channel.c: see channel.h. A stream's payload is read into memory that grows with what arrived, so
 * a length that lies costs nothing. */
#include "client/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FIRST_READ_BYTES (256U << 10)

int leat_channel_init(struct leat_channel *channel, int take_fd, int is_stream) {
    uint8_t *payload = malloc(LEAT_PACKET_PAYLOAD_MAX);

    if (!payload)
        return -ENOMEM;
    *channel = (struct leat_channel){
        .fd = take_fd,
        .is_stream = is_stream,
        .payload = payload,
        .capacity = LEAT_PACKET_PAYLOAD_MAX,
        .passed_fd = -1,
    };
    return 0;
}

static void drop_passed_fd(struct leat_channel *channel) {
    if (channel->passed_fd >= 0)
        (void)close(channel->passed_fd);
    channel->passed_fd = -1;
}

void leat_channel_deinit(struct leat_channel *channel) {
    drop_passed_fd(channel);
    if (channel->fd >= 0)
        (void)close(channel->fd);
    free(channel->payload);
    *channel = (struct leat_channel){.fd = -1, .passed_fd = -1};
}

static int send_all(int fd, const uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        ssize_t n = send(fd, bytes, n_bytes, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

static int send_frame(int fd, const struct leat_packet *packet, const void *payload) {
    uint8_t head[LEAT_FRAME_HEAD_BYTES + sizeof(*packet)];
    int r;

    leat_frame_head(head, (uint32_t)sizeof(*packet) + packet->payload_bytes);
    memcpy(head + LEAT_FRAME_HEAD_BYTES, packet, sizeof(*packet));
    r = send_all(fd, head, sizeof(head));
    if (r == 0 && packet->payload_bytes > 0)
        r = send_all(fd, payload, packet->payload_bytes);
    return r;
}

int leat_channel_send(struct leat_channel *channel, const struct leat_packet *packet,
                      const void *payload) {
    if (channel->is_stream)
        return send_frame(channel->fd, packet, payload);
    return leat_packet_send(channel->fd, packet, payload, -1, 1);
}

/* 1: n_read reached n_wanted. */
static int read_some(struct leat_channel *channel, void *target, size_t n_wanted) {
    ssize_t n;

    do {
        n = recv(channel->fd, target, n_wanted, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    channel->n_read += (size_t)n;
    return n == 0 ? 0 : 1;
}

static int read_head(struct leat_channel *channel) {
    uint32_t size;

    while (channel->n_read < sizeof(channel->head)) {
        int r = read_some(channel, channel->head + channel->n_read,
                          sizeof(channel->head) - channel->n_read);

        if (r <= 0)
            return r;
    }
    memcpy(&size, channel->head, sizeof(size));
    memcpy(&channel->packet, channel->head + LEAT_FRAME_HEAD_BYTES, sizeof(channel->packet));
    if (size < sizeof(channel->packet) ||
        size - sizeof(channel->packet) != channel->packet.payload_bytes)
        return -EPROTO;
    if (channel->packet.payload_bytes > (channel->packet.kind == LEAT_PACKET_BATCH
                                             ? LEAT_COPY_PAYLOAD_MAX
                                             : LEAT_PACKET_PAYLOAD_MAX))
        return -EPROTO;
    return 1;
}

static int grow_payload(struct leat_channel *channel, size_t n_filled, size_t n_whole) {
    size_t capacity = channel->capacity * 2;
    uint8_t *payload;

    if (n_filled < channel->capacity)
        return 0;
    if (capacity < FIRST_READ_BYTES)
        capacity = FIRST_READ_BYTES;
    if (capacity > n_whole)
        capacity = n_whole;
    payload = realloc(channel->payload, capacity);
    if (!payload)
        return -ENOMEM;
    channel->payload = payload;
    channel->capacity = capacity;
    return 0;
}

static int read_payload(struct leat_channel *channel) {
    size_t n_whole = channel->packet.payload_bytes;

    for (;;) {
        size_t n_filled = channel->n_read - sizeof(channel->head);
        size_t n_room;
        int r;

        if (n_filled == n_whole)
            return 1;
        r = grow_payload(channel, n_filled, n_whole);
        if (r < 0)
            return r;
        n_room = (channel->capacity < n_whole ? channel->capacity : n_whole) - n_filled;
        r = read_some(channel, channel->payload + n_filled, n_room);
        if (r <= 0)
            return r;
    }
}

static int receive_frame(struct leat_channel *channel) {
    int r = 1;

    if (channel->n_read < sizeof(channel->head))
        r = read_head(channel);
    if (r > 0)
        r = read_payload(channel);
    if (r > 0)
        channel->n_read = 0;
    return r;
}

int leat_channel_receive(struct leat_channel *channel) {
    drop_passed_fd(channel);
    if (channel->is_stream)
        return receive_frame(channel);
    return leat_packet_receive(channel->fd, &channel->packet, channel->payload, &channel->passed_fd,
                               0);
}

uint64_t leat_channel_now_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t leat_channel_deadline(int timeout_ms) {
    if (timeout_ms < 0)
        return UINT64_MAX;
    return leat_channel_now_ns() + (uint64_t)timeout_ms * 1000000U;
}

int leat_channel_wait(const struct leat_channel *channel, short events, uint64_t deadline_ns) {
    struct pollfd item = {.fd = channel->fd, .events = events};
    struct timespec left;
    int n;

    if (deadline_ns != UINT64_MAX) {
        uint64_t now_ns = leat_channel_now_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

        left = (struct timespec){.tv_sec = (time_t)(left_ns / 1000000000U),
                                 .tv_nsec = (long)(left_ns % 1000000000U)};
    }
    n = ppoll(&item, 1, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
    if (n < 0)
        return -errno;
    return n == 0 ? -ETIMEDOUT : 0;
}
