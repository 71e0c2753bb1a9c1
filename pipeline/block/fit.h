/* block/fit.h: moves a block to memory that fits it, since its rows may wait long behind a shuffle.
 * Any thread; the block is the caller's. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"

#define LEAT_BLOCK_FIT_COLUMN 72 /* bytes of scratch memory for a column */

/* Moves what outlives the MAP job to `spare`, which is empty or reset and is made to fit. The block
 * and `spare` then exchange arenas. Nothing is moved where the block takes little more than that,
 * or memory is out. In either case the arena's n_bytes are what is kept. */
void leat_block_fit(struct leat_block *block, const struct leat_field *fields, const bool *is_kept,
                    struct leat_arena *scratch, struct leat_arena *spare);

/* Bytes of scratch memory that leat_block_fit() takes. */
static inline size_t leat_block_fit_scratch(const struct leat_block *block) {
    return block->n_columns * LEAT_BLOCK_FIT_COLUMN + LEAT_ARENA_ALIGN;
}
