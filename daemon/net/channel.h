/* channel.h: frames (proto/frame.h) on a client's stream socket, for control connections and copy
 * delivery.
 *
 * Nothing blocks. Frames that the socket does not take wait in a queue, whose bytes are counted so
 * that the owner can bound it. A descriptor that a client sends is never received; it ends the
 * channel.
 *
 * A function of the channel never calls the owner back. An event that it causes, such as a peer
 * that hung up, is reported in a later turn of the loop. Only on_sent is an exception. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/net/socket_closer.h"
#include "proto/frame.h"
#include "proto/packet.h"

/* A frame on its way out. It belongs to the channel until on_sent, which is called exactly once and
 * perhaps before leat_channel_send() returns. on_sent may free it, but not close the channel. */
struct leat_outgoing {
    struct leat_outgoing *next;
    uint8_t head[LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet)];
    size_t head_bytes;
    const void *payload;
    size_t payload_bytes;
    size_t n_sent;
    void (*on_sent)(struct leat_outgoing *outgoing);
};

struct leat_channel;

struct leat_channel_ops {
    /* The loop begins or ends work for the channel that the owner did not ask for. The owner may
     * pause the channel here, but not close it. May be NULL. */
    void (*on_turn)(struct leat_channel *channel, bool begins);
    /* One whole frame; its bytes are valid during the call. */
    void (*on_frame)(struct leat_channel *channel, const uint8_t *frame, size_t n_bytes);
    /* Nothing more can be received or sent; err->code is 0 at the end of file. The owner closes the
     * channel. */
    void (*on_end)(struct leat_channel *channel, const struct leat_error *err);
    /* The queue became empty. */
    void (*on_drained)(struct leat_channel *channel);
    /* The last call of all. */
    void (*on_closed)(struct leat_channel *channel);
};

struct leat_channel {
    const struct leat_channel_ops *ops;
    int fd;
    bool is_closing, has_ended, watches_end;
    int failure; /* -errno of a send, not reported yet */
    uint32_t n_pauses;
    uv_poll_t poll;
    uv_timer_t later; /* for events that are reported in a later turn */
    struct leat_frame_decoder decoder;
    struct leat_outgoing *first, **last;
    size_t queued_bytes;
    struct leat_socket_closer *closer;
    struct leat_socket_closer_item closer_item;
};

/* 0; or -errno, and the descriptor is still the caller's. */
int leat_channel_open(struct leat_channel *channel, uv_loop_t *loop,
                      struct leat_socket_closer *closer, int take_fd, uint32_t frame_limit,
                      const struct leat_channel_ops *ops);
/* Queues the frame and sends what the socket takes; a failure ends the channel soon. The caller has
 * set payload, payload_bytes and on_sent. The frame's own head is put before `head`. */
void leat_channel_send(struct leat_channel *channel, struct leat_outgoing *take_outgoing,
                       const void *head, size_t head_bytes);
/* While the channel is paused, nothing is read and no frame is reported. Each pause needs its end.
 */
void leat_channel_pause(struct leat_channel *channel, bool is_paused);
/* Pauses it likewise, but still ends if the peer hangs up with nothing left to read. */
void leat_channel_rest(struct leat_channel *channel, bool is_resting);
void leat_channel_close(struct leat_channel *channel);
