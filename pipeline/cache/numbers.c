/* cache/numbers.c: see cache/numbers.h. Differences are taken in unsigned arithmetic, so that no
 * range overflows and what was packed comes back whatever it was. */
#include "pipeline/cache/numbers.h"

#include <string.h>

#include "proto/base/simd.h"

typedef uint32_t numbers16 __attribute__((vector_size(16)));

bool leat_cache_is_narrowed(enum leat_dtype dtype) {
    return dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64;
}

static void range_of_int32(struct leat_cache_range *range, const int32_t *values, size_t n) {
    int32_t min = INT32_MAX, max = INT32_MIN;

    for (size_t i = 0; i < n; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    range->min = min < range->min ? min : range->min;
    range->max = max > range->max ? max : range->max;
}

static void range_of_int64(struct leat_cache_range *range, const int64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        range->min = values[i] < range->min ? values[i] : range->min;
        range->max = values[i] > range->max ? values[i] : range->max;
    }
}

void leat_cache_range_add(struct leat_cache_range *range, enum leat_dtype dtype, const void *values,
                          size_t n) {
    if (n == 0)
        return;
    if (dtype == LEAT_DTYPE_INT32)
        range_of_int32(range, values, n);
    else
        range_of_int64(range, values, n);
}

unsigned leat_cache_range_width(const struct leat_cache_range *range, enum leat_dtype dtype,
                                int64_t *ret_base) {
    uint64_t span = (uint64_t)range->max - (uint64_t)range->min;
    unsigned size = (unsigned)leat_dtype_size(dtype), width;

    *ret_base = 0;
    if (range->min > range->max)
        return 1;
    width = span <= UINT8_MAX ? 1 : span <= UINT16_MAX ? 2 : span < (1U << 24) ? 3 : 4;
    if (span > UINT32_MAX || width >= size)
        return size;
    /* ids count from zero: without a base, equal ids are equal bytes in every block */
    *ret_base = range->min < 0 || (uint64_t)range->max >> (8 * width) ? range->min : 0;
    return width;
}

size_t leat_cache_packed_bytes(size_t n, unsigned width) {
    return n * width + (width == 3);
}

#define PACK(name, from, to)                                                                       \
    static void name(uint8_t *target, const from *values, size_t n, uint64_t base) {               \
        for (size_t i = 0; i < n; i++) {                                                           \
            to value = (to)((uint64_t)values[i] - base);                                           \
                                                                                                   \
            memcpy(target + i * sizeof(value), &value, sizeof(value));                             \
        }                                                                                          \
    }
#define PACK_24(name, from)                                                                        \
    static void name(uint8_t *target, const from *values, size_t n, uint64_t base) {               \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint32_t value = (uint32_t)((uint64_t)values[i] - base);                               \
                                                                                                   \
            target[3 * i] = (uint8_t)value;                                                        \
            target[3 * i + 1] = (uint8_t)(value >> 8);                                             \
            target[3 * i + 2] = (uint8_t)(value >> 16);                                            \
        }                                                                                          \
    }

PACK(pack_int32_8, int32_t, uint8_t)
PACK(pack_int32_16, int32_t, uint16_t)
PACK_24(pack_int32_24, int32_t)
PACK(pack_int64_8, int64_t, uint8_t)
PACK(pack_int64_16, int64_t, uint16_t)
PACK_24(pack_int64_24, int64_t)
PACK(pack_int64_32, int64_t, uint32_t)

void leat_cache_pack(uint8_t *target, const void *values, size_t n, enum leat_dtype dtype,
                     unsigned width, int64_t base) {
    static void (*const of_int32[])(uint8_t *, const int32_t *, size_t,
                                    uint64_t) = {NULL, pack_int32_8, pack_int32_16, pack_int32_24};
    static void (*const of_int64[])(uint8_t *, const int64_t *, size_t, uint64_t) = {
        NULL, pack_int64_8, pack_int64_16, pack_int64_24, pack_int64_32};

    if (n == 0)
        return;
    if (width == leat_dtype_size(dtype))
        memcpy(target, values, n * width);
    else if (dtype == LEAT_DTYPE_INT32)
        of_int32[width](target, values, n, (uint64_t)base);
    else
        of_int64[width](target, values, n, (uint64_t)base);
}

/* Results wrap as the dtype does: what hostile bytes add up to is some number, never undefined. */
#define UNPACK(name, from, to, bits)                                                               \
    static void name(to *values, const uint8_t *packed, size_t n, uint64_t base) {                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            from value;                                                                            \
                                                                                                   \
            memcpy(&value, packed + i * sizeof(value), sizeof(value));                             \
            values[i] = (to)((bits)value + (bits)base);                                            \
        }                                                                                          \
    }
#define UNPACK_24(name, to, bits)                                                                  \
    static void name(to *values, const uint8_t *packed, size_t n, uint64_t base) {                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint32_t value;                                                                        \
                                                                                                   \
            memcpy(&value, packed + 3 * i, sizeof(value));                                         \
            values[i] = (to)((bits)(value & 0xffffff) + (bits)base);                               \
        }                                                                                          \
    }

UNPACK(unpack_int32_8, uint8_t, int32_t, uint32_t)
UNPACK(unpack_int32_16, uint16_t, int32_t, uint32_t)
UNPACK_24(unpack_int32_24_rest, int32_t, uint32_t)

/* Four values of 2 or 3 bytes; of 3, 16 bytes are read. */
LEAT_SIMD_INLINE numbers16 take_four(const uint8_t *packed, unsigned width) {
    leat_bytes16 bytes = {0}, zero = {0};

    if (width == 3)
        return (numbers16)__builtin_shufflevector(leat_bytes16_load(packed), zero, 0, 1, 2, 16, 3,
                                                  4, 5, 16, 6, 7, 8, 16, 9, 10, 11, 16);
    memcpy(&bytes, packed, 8);
    return (numbers16)__builtin_shufflevector(bytes, zero, 0, 1, 16, 16, 2, 3, 16, 16, 4, 5, 16, 16,
                                              6, 7, 16, 16);
}

/* Unpacks by fours, and returns how many values; compilers do not do this for 3 bytes. */
LEAT_SIMD_INLINE size_t unpack_fours(int32_t *values, const uint8_t *packed, size_t n,
                                     uint64_t base, unsigned width, bool is_past) {
    const uint32_t each = (uint32_t)base;
    const numbers16 bases = {each, each, each, each};
    size_t n_read = width == 3 ? 5 : 4, i; /* values that have the bytes of a load, and one more */

    for (i = 0; i + n_read <= n; i += 4) {
        numbers16 four = take_four(packed + width * i, width) + bases;

        if (is_past)
            leat_simd_store_past(values + i, &four);
        else
            memcpy(values + i, &four, sizeof(four));
    }
    return i;
}

LEAT_SIMD static size_t unpack_24_simd(int32_t *values, const uint8_t *packed, size_t n,
                                       uint64_t base) {
    return unpack_fours(values, packed, n, base, 3, false);
}

LEAT_SIMD static size_t unpack_16_past(int32_t *values, const uint8_t *packed, size_t n,
                                       uint64_t base) {
    return unpack_fours(values, packed, n, base, 2, true);
}

LEAT_SIMD static size_t unpack_24_past(int32_t *values, const uint8_t *packed, size_t n,
                                       uint64_t base) {
    return unpack_fours(values, packed, n, base, 3, true);
}

static void unpack_int32_24(int32_t *values, const uint8_t *packed, size_t n, uint64_t base) {
    size_t n_done = leat_simd_is_here() ? unpack_24_simd(values, packed, n, base) : 0;

    unpack_int32_24_rest(values + n_done, packed + 3 * n_done, n - n_done, base);
}

UNPACK(unpack_int64_8, uint8_t, int64_t, uint64_t)
UNPACK(unpack_int64_16, uint16_t, int64_t, uint64_t)
UNPACK_24(unpack_int64_24, int64_t, uint64_t)
UNPACK(unpack_int64_32, uint32_t, int64_t, uint64_t)

void leat_cache_unpack(void *values, const uint8_t *packed, size_t n, enum leat_dtype dtype,
                       unsigned width, int64_t base) {
    static void (*const of_int32[])(int32_t *, const uint8_t *, size_t, uint64_t) = {
        NULL, unpack_int32_8, unpack_int32_16, unpack_int32_24};
    static void (*const of_int64[])(int64_t *, const uint8_t *, size_t, uint64_t) = {
        NULL, unpack_int64_8, unpack_int64_16, unpack_int64_24, unpack_int64_32};

    if (dtype == LEAT_DTYPE_INT32)
        of_int32[width](values, packed, n, (uint64_t)base);
    else
        of_int64[width](values, packed, n, (uint64_t)base);
}

void leat_cache_unpack_past(void *values, const uint8_t *packed, size_t n, enum leat_dtype dtype,
                            unsigned width, int64_t base) {
    size_t n_before = -(uintptr_t)values % 16 / sizeof(int32_t), n_done;
    int32_t *to = values;

    if (dtype != LEAT_DTYPE_INT32 || (width != 2 && width != 3) || n < n_before ||
        !leat_simd_is_here()) {
        leat_cache_unpack(values, packed, n, dtype, width, base);
        return;
    }
    leat_cache_unpack(to, packed, n_before, dtype, width, base);
    to += n_before;
    packed += width * n_before;
    n -= n_before;
    n_done = width == 3 ? unpack_24_past(to, packed, n, (uint64_t)base)
                        : unpack_16_past(to, packed, n, (uint64_t)base);
    leat_cache_unpack(to + n_done, packed + width * n_done, n - n_done, dtype, width, base);
}
