/* cache/numbers.h: stores whole numbers in the narrowest unsigned type that holds the range of a
 * block's values, as distances from the smallest. Any thread; pure.
 *
 * The loops are plain enough for the compiler to vectorize them; reading back runs at the speed of
 * memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/dtype.h"

/* True if numbers of that dtype are narrowed; others are stored as they are. */
bool leat_cache_is_narrowed(enum leat_dtype dtype);

struct leat_cache_range {
    int64_t min, max; /* min > max: no values yet */
};
#define LEAT_CACHE_RANGE_INIT ((struct leat_cache_range){.min = INT64_MAX, .max = INT64_MIN})

void leat_cache_range_add(struct leat_cache_range *range, enum leat_dtype dtype, const void *values,
                          size_t n);
/* Bytes a value: 1..4, or the size of the dtype; *ret_base: what to take off each. */
unsigned leat_cache_range_width(const struct leat_cache_range *range, enum leat_dtype dtype,
                                int64_t *ret_base);

/* Bytes of n values; with width 3 there is one more, so that they can be read by fours. */
size_t leat_cache_packed_bytes(size_t n, unsigned width);
void leat_cache_pack(uint8_t *target, const void *values, size_t n, enum leat_dtype dtype,
                     unsigned width, int64_t base);
/* `packed` has leat_cache_packed_bytes(n, width) bytes; width below the dtype's size. */
void leat_cache_unpack(void *values, const uint8_t *packed, size_t n, enum leat_dtype dtype,
                       unsigned width, int64_t base);
/* The same for values that nobody reads soon: they go past the caches of the CPU if it can do that.
 * leat_simd_fence() makes them visible to others. */
void leat_cache_unpack_past(void *values, const uint8_t *packed, size_t n, enum leat_dtype dtype,
                            unsigned width, int64_t base);
