/* wire.h: packets to and from the daemon on either endpoint.
 *
 * On the SOCK_SEQPACKET endpoint a packet is a message. On the SOCK_STREAM endpoint (delivery:
 * copy) it is a frame, of which never more is read than belongs to it: so the descriptor is
 * readable exactly when there is something to get further with. Owner: the stream.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/frame.h"
#include "proto/packet.h"

struct leat_wire {
    int fd; /* -1: closed */
    int is_stream;
    uint8_t *payload; /* of the last packet, valid until the next receive */
    size_t capacity;
    struct leat_packet packet; /* the last one */
    int passed_fd;             /* that came with it, -1: none; whoever wants it takes it */
    /* the frame that is being read, SOCK_STREAM */
    uint8_t head[LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet)];
    size_t n_read; /* of head and payload */
};

/* Takes a connected socket. 0 or -ENOMEM (the socket stays the caller's). */
int leat_wire_init(struct leat_wire *wire, int take_fd, int is_stream);
void leat_wire_deinit(struct leat_wire *wire);

/* Sends one packet; blocks while the socket's buffer is full, up to the socket's SO_SNDTIMEO. */
int leat_wire_send(struct leat_wire *wire, const struct leat_packet *packet, const void *payload);
/* Packets without payload, in order. */
int leat_wire_send_many(struct leat_wire *wire, const struct leat_packet *packets, size_t n);

/* One packet into wire->packet, payload and passed_fd, without blocking. 1, 0 for end of file,
 * -EAGAIN, -EPROTO, -ENOMEM, other -errno. */
int leat_wire_receive(struct leat_wire *wire);

/* Waits until `events` (POLLIN, POLLOUT) or the deadline (CLOCK_MONOTONIC in ns; UINT64_MAX:
 * none), or until wake_fd, an eventfd or -1, was written to. 0, -ETIMEDOUT, -EINTR. */
int leat_wire_wait(const struct leat_wire *wire, short events, int wake_fd, uint64_t deadline_ns);

uint64_t leat_wire_now_ns(void);
/* Now and so many milliseconds; UINT64_MAX for a negative number. */
uint64_t leat_wire_deadline(int timeout_ms);
