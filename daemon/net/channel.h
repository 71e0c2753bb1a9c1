/* channel.h: frames (proto/frame.h) on a stream socket of a client: the control socket and copy
 * delivery.
 *
 * Nothing blocks: what the socket does not take waits in a queue whose bytes are counted, so that
 * its owner can bound it. Descriptors that a client sends are never received: they end the channel.
 *
 * No call of the owner's calls the owner: what it causes (a peer that is gone, frames that waited
 * for the end of a pause) is told in a later turn of the loop. The one exception is on_sent.
 * Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/net/reaper.h"
#include "proto/frame.h"
#include "proto/packet.h"

/* A frame on its way out. It belongs to the channel until on_sent, which is called exactly once,
 * and perhaps before leat_channel_send() returns: on_sent takes the memory back and does not close.
 */
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
    /* The loop begins to work for the channel, or has done so: of what the owner did not call. The
     * owner may pause the channel in it, and closes nothing. NULL: it does not want to know. */
    void (*on_turn)(struct leat_channel *channel, bool begins);
    /* One whole frame; its bytes are valid during the call. */
    void (*on_frame)(struct leat_channel *channel, const uint8_t *frame, size_t n_bytes);
    /* No more will come, or nothing can be sent any more: err->code 0: end of file. The owner
     * closes the channel. */
    void (*on_end)(struct leat_channel *channel, const struct leat_error *err);
    /* The queue is empty (again). */
    void (*on_drained)(struct leat_channel *channel);
    /* The last call of all; within a turn, or not. */
    void (*on_closed)(struct leat_channel *channel);
};

struct leat_channel {
    const struct leat_channel_ops *ops;
    int fd;
    bool is_closing, has_ended, watches_end;
    int failure; /* of a send: -errno, not told yet */
    uint32_t n_pauses;
    uv_poll_t poll;
    uv_timer_t later; /* for what is told in a later turn */
    struct leat_frame_decoder decoder;
    struct leat_outgoing *first, **last;
    size_t queued_bytes;
    struct leat_reaper *reaper;
    struct leat_reaper_item reaper_item;
};

/* Takes over fd. 0 or -errno (then fd is still the caller's, and there is nothing to close). */
int leat_channel_open(struct leat_channel *channel, uv_loop_t *loop, struct leat_reaper *reaper,
                      int take_fd, uint32_t frame_limit, const struct leat_channel_ops *ops);
/* Queues and sends what can be sent; a failure ends the channel soon. head_bytes, payload,
 * payload_bytes and on_sent are set by the caller; head without the frame's own head, which is put
 * in front. */
void leat_channel_send(struct leat_channel *channel, struct leat_outgoing *take_outgoing,
                       const void *head, size_t head_bytes);
/* While paused no frame is handed out and nothing is read. Each pause needs its own end. */
void leat_channel_pause(struct leat_channel *channel, bool is_paused);
/* Pauses it likewise; but a peer that has hung up, having asked for nothing more, is its end. */
void leat_channel_rest(struct leat_channel *channel, bool is_resting);
void leat_channel_close(struct leat_channel *channel);
