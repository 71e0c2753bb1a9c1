/* field_type.h: the type of a field as people write it: text, int64, and for lists int64[] (any
 * length), int64[8] (exactly 8), int64[<=512] (at most 512). list<int64> is an older way to write
 * int64[]. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/dtype.h"

#define LEAT_FIELD_TYPE_TEXT_MAX 40
#define LEAT_FIELD_LENGTH_MAX    (INT64_C(1) << 28)

struct leat_field_type {
    enum leat_dtype dtype;
    bool is_list;
    uint64_t width;      /* of a list: exactly so many elements; 0: any number */
    uint64_t max_length; /* at most; 0: any number */
};

/* False: the text is no type. */
bool leat_field_type_parse(const char *text, struct leat_field_type *ret_type);
/* Writes "int64[]" for a list, else the dtype, into a buffer of LEAT_FIELD_TYPE_TEXT_MAX, and
 * returns it. */
const char *leat_field_type_print(enum leat_dtype dtype, bool is_list, char *buffer);
