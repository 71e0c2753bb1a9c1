/* block/sparse.h: frees the values of rows that have left a block, once few rows are left.
 *
 * Behind a shuffle a block stays until its last row has left, which takes several times as long as
 * for the middle one. Rows that have left are marked. When a quarter of the rows are left with
 * which the block was made or last thinned, the list values of the others are freed. Rows keep
 * their numbers. One thread: the run's.
 */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"

#define LEAT_SPARSE_ALIVE 24 /* thinning does not pay with fewer blocks */

/* Marks a row that was in a batch and is in none any more. Not for a block of which a row may be
 * referred to more than once. */
static inline void leat_block_mark_gone(struct leat_block *block, uint32_t row);
/* True if thinning the block pays now and nobody reads it. */
static inline bool leat_block_is_sparse(const struct leat_block *block);
/* Thins the block; its old memory goes to its pool. Without memory the block stays as it is. */
void leat_block_thin(struct leat_block *block, const struct leat_field *fields,
                     const bool *is_kept);

/* A block that is shared, held, gathered or to be made again is left alone, and so are few. */
bool leat_block_may_thin(const struct leat_block *block);
/* Begins to mark rows, if there is memory. */
void leat_block_begin_gone(struct leat_block *block);

static inline void leat_block_mark_gone(struct leat_block *block, uint32_t row) {
    if (!block->gone && block->pool->n_alive >= LEAT_SPARSE_ALIVE)
        leat_block_begin_gone(block);
    if (!block->gone)
        return;
    block->gone[row / 8] |= (uint8_t)(1U << row % 8);
    block->n_gone++;
}

static inline bool leat_block_is_sparse(const struct leat_block *block) {
    return block->gone && block->n_rows - block->n_gone <= block->n_sparse && block->n_sparse > 0 &&
           block->n_pins == 0 && leat_block_may_thin(block);
}
