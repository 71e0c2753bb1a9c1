/* row_reader.h: the records of a stream as they are after a stage, block by block, on the calling
 * thread: without order and without batches. May block. */
#pragma once

#include "pipeline/plan/plan.h"

/* Looks at a block, in the order of the data: 0: go on, 1: that was enough, -errno with err. */
typedef int leat_row_reader_fn(void *user, const struct leat_plan *plan,
                               const struct leat_block *block, struct leat_error *err);

/* Reads all blocks of a plan of rows, through the MAP stages up to that of index `after_stage` in
 * the spec (-1: none). The plan is changed so that all columns are made; it is of no other use
 * after that. Bad records are in the blocks, first to last. */
int leat_read_rows(struct leat_plan *plan, const struct leat_opener *opener, int after_stage,
                   leat_row_reader_fn *on_block, void *user, struct leat_error *err);

/* The bad record that comes first; NULL: there is none. */
const struct leat_bad_record *leat_block_first_bad(const struct leat_block *block);
