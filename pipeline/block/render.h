/* render.h: values of a column as JSON. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"
#include "proto/base/text.h"

/* One value as JSON; numbers that JSON does not have are null. */
void leat_render_value(struct leat_text *text, const struct leat_field *field,
                       const struct leat_column *column, uint32_t row);
