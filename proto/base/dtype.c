#include "proto/base/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[LEAT_N_DTYPES] = {
    [LEAT_DTYPE_NONE] = {"none", 0},       [LEAT_DTYPE_BOOL] = {"bool", 1},
    [LEAT_DTYPE_UINT8] = {"uint8", 1},     [LEAT_DTYPE_UINT16] = {"uint16", 2},
    [LEAT_DTYPE_INT32] = {"int32", 4},     [LEAT_DTYPE_INT64] = {"int64", 8},
    [LEAT_DTYPE_FLOAT16] = {"float16", 2}, [LEAT_DTYPE_BFLOAT16] = {"bfloat16", 2},
    [LEAT_DTYPE_FLOAT32] = {"float32", 4}, [LEAT_DTYPE_FLOAT64] = {"float64", 8},
    [LEAT_DTYPE_TEXT] = {"text", 1},       [LEAT_DTYPE_INT8] = {"int8", 1},
    [LEAT_DTYPE_INT16] = {"int16", 2},
};

const char *leat_dtype_name(enum leat_dtype dtype) {
    return dtype < LEAT_N_DTYPES ? dtypes[dtype].name : dtypes[LEAT_DTYPE_NONE].name;
}

size_t leat_dtype_size(enum leat_dtype dtype) {
    return dtype < LEAT_N_DTYPES ? dtypes[dtype].size : 0;
}

bool leat_dtype_is_element(uint32_t dtype) {
    return dtype > LEAT_DTYPE_NONE && dtype < LEAT_N_DTYPES && dtype != LEAT_DTYPE_TEXT;
}

enum leat_dtype leat_dtype_parse(const char *name) {
    for (int i = LEAT_DTYPE_BOOL; i < LEAT_N_DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            return (enum leat_dtype)i;
    return LEAT_DTYPE_NONE;
}
