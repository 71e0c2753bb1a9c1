/* row_reader.h: reads the records of a stream as they are behind a stage, block by block, without
 * order and batches. On the calling thread; may block. */
#pragma once

#include "pipeline/plan/plan.h"

/* Takes a block, in the order of the data. 0: go on; 1: stop; -errno. */
typedef int leat_row_reader_fn(void *user, const struct leat_plan *plan,
                               const struct leat_block *block, struct leat_error *err);

/* Reads all blocks of a plan of rows, through the MAP stages up to index after_stage in the spec
 * (-1: none). Changes the plan so that all columns are made, after which it has no other use. */
int leat_read_rows(struct leat_plan *plan, const struct leat_opener *opener, int after_stage,
                   leat_row_reader_fn *on_block, void *user, struct leat_error *err);

/* The first bad record of the data in the block; NULL: none. */
const struct leat_bad_record *leat_block_first_bad(const struct leat_block *block);
