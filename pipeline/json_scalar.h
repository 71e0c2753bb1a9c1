/* json_scalar.h: numbers and booleans of JSON into columns. Pure; any thread. */
#pragma once

#include "pipeline/scalar.h"
#include "pipeline/tokenizer/json.h"

/* Stores a number or boolean. -EINVAL: it is of another kind; -ERANGE: the dtype cannot hold it, or
 * float64 would round a whole number. */
int leat_json_scalar_store(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node);
