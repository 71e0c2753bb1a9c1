/* wire.h: packets to and from the daemon on a socket of either type.
 *
 * On a SOCK_SEQPACKET (shared delivery) a message is one packet, or several that are joined. On a
 * SOCK_STREAM (copy delivery) a packet is a frame, and bytes behind the frame are not read, so the
 * descriptor is readable exactly while more can be received. Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/frame.h"
#include "proto/packet.h"

struct leat_wire {
    int fd; /* -1: closed */
    bool is_stream;
    uint8_t *payload; /* of the last packet, valid until the next one is received */
    size_t capacity;
    struct leat_packet packet;   /* the last one received */
    int passed_fd;               /* came with it; -1: none. Closed by the next receive */
    bool joins;                  /* the daemon takes joined packets */
    size_t n_more, n_more_taken; /* packets in payload that came with the last message */
    /* For SOCK_STREAM: the frame that is being read. */
    uint8_t head[LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet)];
    size_t n_read; /* bytes of head and payload */
};

#define LEAT_WIRE_INIT ((struct leat_wire){.fd = -1, .passed_fd = -1})

/* Takes a connected socket. 0 or -ENOMEM (then the socket stays the caller's). */
int leat_wire_init(struct leat_wire *wire, int take_fd, int socket_type);
void leat_wire_deinit(struct leat_wire *wire);

/* Sends one packet. Blocks while the socket's buffer is full, up to the socket's SO_SNDTIMEO. */
int leat_wire_send(struct leat_wire *wire, const struct leat_packet *packet, const void *payload);
/* Sends packets without payload, at most LEAT_PACKET_JOINED_MAX, in order. */
int leat_wire_send_many(struct leat_wire *wire, const struct leat_packet *packets, size_t n);

/* Receives one packet into wire->packet, payload and passed_fd, without blocking. 1, 0 for end of
 * file, -EAGAIN, -EPROTO, -ENOMEM, other -errno. */
int leat_wire_receive(struct leat_wire *wire);
/* True if leat_wire_receive() has a packet without looking at the socket. */
static inline bool leat_wire_has_packets(const struct leat_wire *wire) {
    return wire->n_more_taken < wire->n_more;
}
/* Reads the error in the last packet (REFUSE, GOAWAY, NOTICE) into err. Returns its code. */
int leat_wire_read_error(const struct leat_wire *wire, struct leat_error *err);

/* Waits until something can be received, for the deadline (CLOCK_MONOTONIC in ns; UINT64_MAX:
 * none), or for a write to wake_fd (an eventfd, or -1). 0, -ETIMEDOUT, -EINTR. */
int leat_wire_wait(const struct leat_wire *wire, int wake_fd, uint64_t deadline_ns);

/* Closes the descriptors without a word to the daemon. Async-signal-safe. */
void leat_wire_forget(struct leat_wire *wire);

/* The time in so many milliseconds; UINT64_MAX if the number is negative. */
uint64_t leat_wire_deadline(int timeout_ms);
