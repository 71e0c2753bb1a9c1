/* render.h: a row of a block as JSON, for `leatctl head` and error texts. */
#pragma once

#include "pipeline/block/json_scalar.h"
#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

/* The words "mask of", "parts of", before the name of what the column is made of. */
const char *leat_making_text(enum leat_making made);

/* Adds {"name": value, ...} of the given fields. */
void leat_render_row(struct leat_text *text, const struct leat_plan *plan,
                     const struct leat_block *block, uint32_t row, const uint32_t *columns,
                     const char (*names)[LEAT_NAME_MAX + 1], size_t n_fields);
