/* row_reader.h: reads the records of a stream as they are behind a stage, block by block, without
 * order and batches. On the calling thread; may block. */
#pragma once

#include "pipeline/block/json_scalar.h"
#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

/* Takes a block, in the order of the data. 0: go on; 1: stop; -errno. */
typedef int leat_row_reader_fn(void *user, const struct leat_plan *plan,
                               const struct leat_block *block, struct leat_error *err);

/* Reads all blocks of a plan of rows, through the MAP stages up to index after_stage in the spec
 * (-1: none). Changes the plan so that all columns are made, after which it has no other use. */
int leat_read_rows(struct leat_plan *plan, const struct leat_opener *opener, int after_stage,
                   leat_row_reader_fn *on_block, void *user, struct leat_error *err);

/* The first bad record of the data in the block; NULL: none. */
const struct leat_bad_record *leat_block_first_bad(const struct leat_block *block);

/* A row of a block as JSON, for `leatctl head` and error texts. */
/* The words "mask of", "parts of", before the name of what the column is made of. */
const char *leat_making_text(enum leat_making made);

/* Adds {"name": value, ...} of the given fields. */
void leat_render_row(struct leat_text *text, const struct leat_plan *plan,
                     const struct leat_block *block, uint32_t row, const uint32_t *columns,
                     const char (*names)[LEAT_NAME_MAX + 1], size_t n_fields);
