/* wire.c: see wire.h. The payload of a frame is read into memory that grows with what arrived, so
 * a wrong length costs nothing. */
#include "client/transport/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/file.h"
#include "proto/leat.pb-c.h"
#include "proto/message.h"

#define FIRST_READ_BYTES (256U << 10)

int leat_wire_init(struct leat_wire *wire, int take_fd, int socket_type) {
    uint8_t *payload = malloc(LEAT_PACKET_PAYLOAD_MAX);

    if (!payload)
        return -ENOMEM;
    *wire = (struct leat_wire){
        .fd = take_fd,
        .is_stream = socket_type == SOCK_STREAM,
        .payload = payload,
        .capacity = LEAT_PACKET_PAYLOAD_MAX,
        .passed_fd = -1,
    };
    return 0;
}

void leat_wire_deinit(struct leat_wire *wire) {
    leat_wire_forget(wire);
    free(wire->payload);
    *wire = LEAT_WIRE_INIT;
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

int leat_wire_send(struct leat_wire *wire, const struct leat_packet *packet, const void *payload) {
    if (wire->is_stream)
        return send_frame(wire->fd, packet, payload);
    return leat_packet_send(wire->fd, packet, payload, -1, 1);
}

int leat_wire_send_many(struct leat_wire *wire, const struct leat_packet *packets, size_t n) {
    int r = 0;

    if (wire->joins)
        return leat_packet_send_joined(wire->fd, packets, n, 1);
    if (!wire->is_stream)
        return leat_packet_send_many(wire->fd, packets, n, 1);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = send_frame(wire->fd, &packets[i], NULL);
    return r;
}

/* Reads up to n_wanted bytes. 1, 0 for end of file, -EAGAIN, other -errno. */
static int read_some(struct leat_wire *wire, void *target, size_t n_wanted) {
    ssize_t n;

    do {
        n = recv(wire->fd, target, n_wanted, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    wire->n_read += (size_t)n;
    return n == 0 ? 0 : 1;
}

static int read_head(struct leat_wire *wire) {
    uint32_t size;

    while (wire->n_read < sizeof(wire->head)) {
        int r = read_some(wire, wire->head + wire->n_read, sizeof(wire->head) - wire->n_read);

        if (r <= 0)
            return r;
    }
    memcpy(&size, wire->head, sizeof(size));
    memcpy(&wire->packet, wire->head + LEAT_FRAME_HEAD_BYTES, sizeof(wire->packet));
    if (size < sizeof(wire->packet) || size - sizeof(wire->packet) != wire->packet.payload_bytes)
        return -EPROTO;
    if (wire->packet.payload_bytes >
        (wire->packet.kind == LEAT_PACKET_BATCH ? LEAT_COPY_PAYLOAD_MAX : LEAT_PACKET_PAYLOAD_MAX))
        return -EPROTO;
    return 1;
}

static int grow_payload(struct leat_wire *wire, size_t n_filled, size_t n_whole) {
    size_t capacity = wire->capacity * 2;
    uint8_t *payload;

    if (n_filled < wire->capacity)
        return 0;
    if (capacity < FIRST_READ_BYTES)
        capacity = FIRST_READ_BYTES;
    if (capacity > n_whole)
        capacity = n_whole;
    payload = realloc(wire->payload, capacity);
    if (!payload)
        return -ENOMEM;
    wire->payload = payload;
    wire->capacity = capacity;
    return 0;
}

static int read_payload(struct leat_wire *wire) {
    size_t n_whole = wire->packet.payload_bytes;

    for (;;) {
        size_t n_filled = wire->n_read - sizeof(wire->head);
        size_t n_room;
        int r;

        if (n_filled == n_whole)
            return 1;
        r = grow_payload(wire, n_filled, n_whole);
        if (r < 0)
            return r;
        n_room = (wire->capacity < n_whole ? wire->capacity : n_whole) - n_filled;
        r = read_some(wire, wire->payload + n_filled, n_room);
        if (r <= 0)
            return r;
    }
}

static int receive_frame(struct leat_wire *wire) {
    int r = 1;

    if (wire->n_read < sizeof(wire->head))
        r = read_head(wire);
    if (r > 0)
        r = read_payload(wire);
    if (r > 0)
        wire->n_read = 0;
    return r;
}

int leat_wire_receive(struct leat_wire *wire) {
    leat_file_close(&wire->passed_fd);
    if (wire->is_stream)
        return receive_frame(wire);
    if (leat_wire_has_packets(wire)) {
        memcpy(&wire->packet, wire->payload + wire->n_more_taken++ * sizeof(wire->packet),
               sizeof(wire->packet));
        return 1;
    }
    wire->n_more_taken = 0;
    return leat_packet_receive_joined(wire->fd, &wire->packet, wire->payload, &wire->n_more,
                                      &wire->passed_fd, 0);
}

int leat_wire_read_error(const struct leat_wire *wire, struct leat_error *err) {
    Leat__Error *message =
        leat_message_unpack(&leat__error__descriptor, wire->payload, wire->packet.payload_bytes,
                            "the daemon sent an error that libleat cannot read", err);

    if (!message)
        return err->code;
    leat_error_from_message(err, message);
    leat__error__free_unpacked(message, NULL);
    return err->code;
}

void leat_wire_forget(struct leat_wire *wire) {
    leat_file_close(&wire->fd);
    leat_file_close(&wire->passed_fd);
}

uint64_t leat_wire_deadline(int timeout_ms) {
    if (timeout_ms < 0)
        return UINT64_MAX;
    return leat_now_ns() + (uint64_t)timeout_ms * 1000000U;
}

/* Resets the eventfd; another thread may have done so already. */
static int take_wake(int wake_fd) {
    eventfd_t n;

    (void)eventfd_read(wake_fd, &n);
    return -EINTR;
}

int leat_wire_wait(const struct leat_wire *wire, int wake_fd, uint64_t deadline_ns) {
    struct pollfd items[] = {{.fd = wire->fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct timespec left;
    int n;

    if (leat_wire_has_packets(wire))
        return 0;
    if (deadline_ns != UINT64_MAX) {
        uint64_t now_ns = leat_now_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

        left = (struct timespec){.tv_sec = (time_t)(left_ns / 1000000000U),
                                 .tv_nsec = (long)(left_ns % 1000000000U)};
    }
    n = ppoll(items, 2, deadline_ns == UINT64_MAX ? NULL : &left, NULL);
    if (n < 0)
        return -errno;
    if (n == 0)
        return -ETIMEDOUT;
    return items[0].revents == 0 ? take_wake(wake_fd) : 0;
}
