/* position.h: where a stream stands, as one line of text that a trainer keeps in its checkpoint.
 *
 *     leat1:spec=<32 hex>:data=<32 hex>:seed=N:epoch=N:step=N:world=N
 *
 * Named is the next batch, with what it is a batch of: the first 16 bytes of the digests of spec
 * and data (all zero: the data has none, as it comes through a FIFO), the seed in force, and the
 * size of the world in which it was taken. Steps count over all ranks, so any world size may go on
 * there. There is one way to write a position: no signs, no leading zeros, digits of digests in
 * lower case. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/blake2b.h"
#include "proto/base/error.h"

#define LEAT_POSITION_DIGEST_BYTES 16
#define LEAT_POSITION_TEXT_SIZE    256 /* with the terminating 0 */

struct leat_position {
    uint8_t spec[LEAT_POSITION_DIGEST_BYTES], data[LEAT_POSITION_DIGEST_BYTES];
    uint64_t seed, epoch, step;
    uint32_t world_size; /* from 1 */
};

/* Its length. */
size_t leat_position_print(const struct leat_position *position,
                           char ret_text[LEAT_POSITION_TEXT_SIZE]);
/* A single end of line behind it is passed over. 0, or -EINVAL and what is wrong with the text. */
int leat_position_read(const char *text, struct leat_position *ret_position,
                       struct leat_error *err);

/* The first step at or before `step` at which all ranks of a round stand alike, if the epoch was
 * begun at `first`: rounds of world_size steps are counted from there. */
static inline uint64_t leat_position_round(uint64_t step, uint64_t first, uint32_t world_size) {
    return step < first ? step : step - (step - first) % world_size;
}
