/* packet.h: what is said on the trainer's socket.
 *
 * One connection is one session: HELLO/WELCOME, OPEN/OPENED, then RING and BATCH from the daemon,
 * RELEASE from the trainer. Every packet starts with the same 64 bytes; OPEN, OPENED, REFUSE,
 * GOAWAY and NOTICE are followed by a protobuf message of leat.proto (bounded by
 * LEAT_PACKET_PAYLOAD_MAX, and for OPEN by message.h). On the SOCK_SEQPACKET endpoint a packet is
 * one message; on the SOCK_STREAM endpoint (delivery: copy) it is one frame (frame.h), there is no
 * RING, and a BATCH is followed by the slot's used bytes as one LZ4 block (used_bytes tells their
 * size after decompression).
 *
 *     trainer -> daemon            daemon -> trainer
 *     HELLO                        WELCOME | REFUSE(Error)
 *     OPEN(OpenRequest)            OPENED(Opened) | REFUSE(Error)
 *                                  RING + memfd    (again when batches outgrow their slots)
 *                                  BATCH | END
 *     RELEASE | REACHED | BYE      GOAWAY(Error) | NOTICE(Error)
 *
 * Rules. A RELEASE names (generation, slot, epoch, step) of a batch that this session holds;
 * anything else is a protocol error and ends the session. Reserved bytes are sent as 0 and ignored
 * when received. An unknown kind is an error, unless bit 15 is set: then it is ignored. Clients
 * never send descriptors.
 *
 * REACHED names the epoch (of `batch`) of which the trainer has just taken its first batch. The
 * daemon makes all of that epoch ahead, and of the next one the first batches alone. For a trainer
 * that does not promise it (LEAT_FEATURE_REACHED) a batch counts as taken once it was sent.
 *
 * Once both sides have said LEAT_FEATURE_JOINED, a message of the SOCK_SEQPACKET endpoint may hold
 * up to LEAT_PACKET_JOINED_MAX packets without payload, one behind the other: to send and receive a
 * message costs the kernel more than all else that is done for a batch.
 *
 * A NOTICE may come anywhere behind OPENED. It tells the trainer something of which the stream does
 * not end: that its data has changed (-ESTALE). A daemon drops it if the trainer's socket is full.
 *
 * REFUSE or GOAWAY with the code -ESHUTDOWN means: this daemon ends, come back to the next one.
 * From then on it fills no slot any more, so a trainer may say BYE and read on what it holds.
 * GOAWAY with LEAT_GOAWAY_CHANGED, behind the last batch of an epoch: the stream is another one
 * now. The trainer may open it at the position where it stands, without the digests and the seed of
 * what it had; releases of what it still holds are taken on the old connection for a while.
 * Otherwise BYE comes when nothing is held: it lets go of all that was not released yet.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_PACKET_MAGIC       UINT32_C(0x5441454c) /* "LEAT" */
#define LEAT_PROTOCOL_MAJOR     1
#define LEAT_PROTOCOL_MINOR     0
#define LEAT_PACKET_PAYLOAD_MAX 65536
#define LEAT_PACKET_JOINED_MAX  32                  /* packets of a message */
#define LEAT_FEATURE_REACHED    UINT64_C(1)         /* of HELLO: the trainer says REACHED */
#define LEAT_FEATURE_JOINED     UINT64_C(2)         /* of HELLO and WELCOME */
#define LEAT_COPY_PAYLOAD_MAX   (UINT32_C(1) << 30) /* a compressed batch on the copy endpoint */

enum leat_packet_kind {
    LEAT_PACKET_HELLO = 1,
    LEAT_PACKET_WELCOME = 2,
    LEAT_PACKET_REFUSE = 3,
    LEAT_PACKET_OPEN = 4,
    LEAT_PACKET_OPENED = 5,
    LEAT_PACKET_RING = 6,
    LEAT_PACKET_BATCH = 7,
    LEAT_PACKET_RELEASE = 8,
    LEAT_PACKET_END = 9,
    LEAT_PACKET_GOAWAY = 10,
    LEAT_PACKET_BYE = 11,
    LEAT_PACKET_REACHED = 0x8000 | 12,
    LEAT_PACKET_NOTICE = 0x8000 | 13,
};

#define LEAT_GOAWAY_CHANGED (-ERESTART)

struct leat_packet {
    uint16_t kind;          /* enum leat_packet_kind */
    uint16_t flags;         /* 0 */
    uint32_t payload_bytes; /* bytes after these 64 in this packet */
    union {
        struct {
            uint32_t magic;
            uint16_t major, minor;
            uint64_t features; /* LEAT_FEATURE_* */
            uint64_t session;  /* WELCOME: the daemon's number for this session, for logs */
            uint32_t reserved[8];
        } hello;
        struct {
            uint64_t generation;
            uint64_t slot_bytes;
            uint32_t n_slots;
            uint32_t reserved[9];
        } ring;
        struct { /* BATCH, RELEASE and REACHED */
            uint64_t generation;
            uint64_t epoch;
            uint64_t step;
            uint64_t used_bytes; /* of the slot; copy delivery: after decompression */
            uint32_t slot;
            uint32_t reserved[5];
        } batch;
        struct {
            uint64_t epoch;   /* the epoch that ended */
            uint64_t n_steps; /* its number of steps over all ranks */
            uint32_t is_last; /* 1: no further epoch was asked for, nothing follows */
            uint32_t reserved[9];
        } end;
        uint8_t bytes[56];
    };
};

_Static_assert(sizeof(struct leat_packet) == 64, "packet");
_Static_assert(offsetof(struct leat_packet, hello.features) == 16, "packet");
_Static_assert(offsetof(struct leat_packet, ring.n_slots) == 24, "packet");
_Static_assert(offsetof(struct leat_packet, batch.slot) == 40, "packet");
_Static_assert(offsetof(struct leat_packet, end.is_last) == 24, "packet");

/* Sends one packet on a SOCK_SEQPACKET socket, payload may be NULL, fd -1 or a descriptor to pass.
 * Never blocks unless the socket does and may_block; never raises SIGPIPE. 0, -EAGAIN,
 * -EPIPE/-ECONNRESET, other -errno. Any thread. */
int leat_packet_send(int socket, const struct leat_packet *packet, const void *payload, int fd,
                     int may_block);

/* Sends packets without payload, in order. As leat_packet_send; what follows a failure is not sent.
 */
int leat_packet_send_many(int socket, const struct leat_packet *packets, size_t n, int may_block);

/* Sends n packets without payload, at most LEAT_PACKET_JOINED_MAX, as one message: all or none. As
 * leat_packet_send. */
int leat_packet_send_joined(int socket, const struct leat_packet *packets, size_t n, int may_block);

/* Receives one packet into packet + payload (LEAT_PACKET_PAYLOAD_MAX bytes; may be NULL if none is
 * expected). Sizes are checked: what does not hold is -EPROTO. ret_fd NULL: the peer must not pass
 * descriptors: what it passes is refused
 * (-EPROTO) without ever being installed, see packet.c. Returns 1 for a packet, 0 for end of file,
 * -EAGAIN, -errno. Never blocks unless may_block. */
int leat_packet_receive(int socket, struct leat_packet *ret_packet, void *ret_payload, int *ret_fd,
                        int may_block);

/* As leat_packet_receive(), but several packets may be joined: *ret_n_more of them lie in
 * ret_payload, behind the one in *ret_packet. */
int leat_packet_receive_joined(int socket, struct leat_packet *ret_packet, void *ret_payload,
                               size_t *ret_n_more, int *ret_fd, int may_block);
