/* block/sparse.h: of a block few of whose rows are left, those alone.
 *
 * Behind a shuffle a block stays until the last of its rows has left, which takes several times as
 * long as the middle one. Rows that have left are marked; when a quarter of those are left that it
 * was made of, or became, the values of lists of the others are let go. Rows keep their numbers.
 * One thread: the run's.
 */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"

/* The row is in no batch any more, and was in one. Not for a block of which a row may be referred
 * to more than once. */
void leat_block_mark_gone(struct leat_block *block, uint32_t row);
/* Whether it is worth it now, and nobody reads the block. */
bool leat_block_is_sparse(const struct leat_block *block);
/* What it was stays with its pool. Without memory it stays as it is. */
void leat_block_thin(struct leat_block *block, const struct leat_field *fields,
                     const bool *is_kept);
