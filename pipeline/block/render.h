/* render.h: writes values of a column as JSON. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"
#include "proto/base/text.h"

/* Adds the value of a row as JSON (json_writer.h); numbers that JSON does not have are null. */
void leat_render_value(struct leat_text *json, const char *key, const struct leat_field *field,
                       const struct leat_column *column, uint32_t row);
