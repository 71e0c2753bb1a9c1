/* scalar.h: one element of a column or tensor, read or written by its dtype. Pure; any thread.
 *
 * Rounding is to nearest, ties to even. To float16 straight from double; to bfloat16 by way of
 * float32, as frameworks do.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/dtype.h"

/* BOOL counts as one. */
static inline bool leat_dtype_is_integer(enum leat_dtype dtype) {
    return (dtype >= LEAT_DTYPE_BOOL && dtype <= LEAT_DTYPE_INT64) || dtype == LEAT_DTYPE_INT8 ||
           dtype == LEAT_DTYPE_INT16;
}

int64_t leat_scalar_int(const void *values, enum leat_dtype dtype,
                        size_t index); /* integer dtypes */
double leat_scalar_double(const void *values, enum leat_dtype dtype,
                          size_t index); /* any but TEXT */

/* 0, or -ERANGE if the dtype cannot hold it (floats hold every finite number; too large becomes
 * infinite). */
int leat_scalar_store_int(void *values, enum leat_dtype dtype, size_t index, int64_t value);
/* True if it is a float dtype that does not hold just that number: float32 makes 16777216 of
 * 16777217. */
bool leat_scalar_rounds(enum leat_dtype dtype, int64_t value);
/* Also -EINVAL for an integer dtype if the value is not whole. */
int leat_scalar_store_double(void *values, enum leat_dtype dtype, size_t index, double value);

uint16_t leat_float16_from_double(double value);
double leat_float16_to_double(uint16_t bits);
uint16_t leat_bfloat16_from_float(float value);

/* Decimal text as Python prints it (shortest that reads back equal); buffer of
 * LEAT_SCALAR_TEXT_MAX. Returns the length. */
#define LEAT_SCALAR_TEXT_MAX 40
size_t leat_scalar_print(const void *values, enum leat_dtype dtype, size_t index, char *buffer);
