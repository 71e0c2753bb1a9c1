/* frame.h: length-prefixed frames on stream sockets (control socket, copy delivery).
 *
 * A frame is a u32 little-endian length, then that many bytes. The decoder takes bytes in any split
 * and hands out whole frames; a length of 0 or above its limit is an error that names the limit,
 * before anything is allocated for it. Owner: its holder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_FRAME_HEAD_BYTES  4
#define LEAT_CONTROL_FRAME_MAX (UINT32_C(1) << 20) /* a control request or reply */

struct leat_frame_decoder {
    uint8_t *data;
    size_t n_bytes;  /* filled */
    size_t capacity; /* grows with what arrives, never with what a length claims */
    size_t n_taken;  /* consumed from the front */
    uint32_t limit;
};

void leat_frame_decoder_init(struct leat_frame_decoder *decoder, uint32_t limit);
void leat_frame_decoder_deinit(struct leat_frame_decoder *decoder);

/* Room for at least min_bytes of input at *ret_space (its size in *ret_size); then
 * leat_frame_decoder_filled(n). 0 or -ENOMEM. */
int leat_frame_decoder_space(struct leat_frame_decoder *decoder, size_t min_bytes,
                             uint8_t **ret_space, size_t *ret_size);
void leat_frame_decoder_filled(struct leat_frame_decoder *decoder, size_t n_bytes);

/* The next whole frame: 1 and its bytes (valid until the next call on the decoder), 0 if more input
 * is needed, -EPROTO. */
int leat_frame_decoder_next(struct leat_frame_decoder *decoder, const uint8_t **ret_frame,
                            size_t *ret_size, struct leat_error *err);

/* Bytes wait in it, perhaps a whole frame. */
bool leat_frame_decoder_has_bytes(const struct leat_frame_decoder *decoder);

/* Writes the head of a frame of that size. */
void leat_frame_head(uint8_t head[LEAT_FRAME_HEAD_BYTES], uint32_t size);
