/* json_scalar.h: numbers and booleans of JSON into columns, and values of columns as JSON. Pure;
 * any thread. */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/block/field.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/scalar.h"
#include "proto/base/text.h"

#define LEAT_JSON_SCALAR_ZERO 1

/* Stores a number or boolean. 0; LEAT_JSON_SCALAR_ZERO: it is the integer 0 as a float, which may
 * have a sign; -EINVAL: it is of another kind; -ERANGE: the dtype cannot hold it, or float64 would
 * round a whole number. */
int leat_json_scalar_store(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node);
/* Stores the sign too, after LEAT_JSON_SCALAR_ZERO and leat_json_mark_zeros(). */
void leat_json_scalar_sign(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node);

/* Adds the value of a row as JSON (json_writer.h); numbers that JSON does not have are null. */
void leat_render_value(struct leat_text *json, const char *key, const struct leat_field *field,
                       const struct leat_column *column, uint32_t row);
