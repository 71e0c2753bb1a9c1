/* dtype.h: element types of tensors and columns. The numbers are part of the slot layout and of the
 * wire: never reuse one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_dtype {
    LEAT_DTYPE_NONE = 0,
    LEAT_DTYPE_BOOL = 1, /* one byte, 0 or 1 */
    LEAT_DTYPE_UINT8 = 2,
    LEAT_DTYPE_UINT16 = 3,
    LEAT_DTYPE_INT32 = 4,
    LEAT_DTYPE_INT64 = 5,
    LEAT_DTYPE_FLOAT16 = 6,  /* IEEE 754 binary16 */
    LEAT_DTYPE_BFLOAT16 = 7, /* the upper half of binary32 */
    LEAT_DTYPE_FLOAT32 = 8,
    LEAT_DTYPE_FLOAT64 = 9,
    LEAT_DTYPE_TEXT = 10, /* bytes; only inside the pipeline, never in a batch */
    LEAT_DTYPE_INT8 = 11,
    LEAT_DTYPE_INT16 = 12,
    LEAT_N_DTYPES
};

/* "int32"; "text" for TEXT; "none" for what is not a dtype. */
const char *leat_dtype_name(enum leat_dtype dtype);

/* Element size in bytes; 1 for TEXT; 0 for what is not a dtype. */
size_t leat_dtype_size(enum leat_dtype dtype);

/* True if tensors may have it: a dtype but TEXT. */
bool leat_dtype_is_element(uint32_t dtype);

/* The dtype of that name, or LEAT_DTYPE_NONE. */
enum leat_dtype leat_dtype_parse(const char *name);
