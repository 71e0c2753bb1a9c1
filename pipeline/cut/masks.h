/* cut/masks.h: 64 bytes of CSV or lines as bit masks, for the files that cut by them
 * (cut/blocks.c, cut/fields.c). Bit i of a mask is byte i.
 *
 * A loop over blocks is written once, takes classify and prefix_xor as arguments, and is inlined
 * per instruction set: portable words of 8 bytes, or AVX2 with a carry-less multiplication
 * (Langdale and Lemire, Parsing Gigabytes of JSON per Second, 2019). Masks that a loop does not
 * look at cost nothing.
 */
#pragma once

#include <string.h>

#include "pipeline/cut/format.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LEAT_ALWAYS_INLINE static inline __attribute__((always_inline))

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "masks are built from little-endian words");

struct leat_masks {
    uint64_t quote, delimiter, lf, cr;
};

typedef void leat_masks_classify_fn(const uint8_t *block, const struct leat_cutter *cutter,
                                    struct leat_masks *ret_masks);
/* Bit i: the parity of bits 0..i. */
typedef uint64_t leat_masks_prefix_xor_fn(uint64_t mask);

/* A bit for each byte of the word that equals the byte repeated in `pattern`. */
LEAT_ALWAYS_INLINE uint64_t leat_masks_equal_bytes(uint64_t word, uint64_t pattern) {
    const uint64_t low_bits = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = word ^ pattern;
    uint64_t high_bits = ~(((differs & low_bits) + low_bits) | differs | low_bits);

    return (high_bits >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

LEAT_ALWAYS_INLINE void leat_masks_classify_portable(const uint8_t *block,
                                                     const struct leat_cutter *cutter,
                                                     struct leat_masks *ret_masks) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    struct leat_masks masks = {0};

    for (unsigned i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, block + 8 * i, 8);
        masks.quote |= leat_masks_equal_bytes(word, ones * cutter->quote) << (8 * i);
        masks.delimiter |= leat_masks_equal_bytes(word, ones * cutter->delimiter) << (8 * i);
        masks.lf |= leat_masks_equal_bytes(word, ones * '\n') << (8 * i);
        masks.cr |= leat_masks_equal_bytes(word, ones * '\r') << (8 * i);
    }
    *ret_masks = masks;
}

/* A block of which only the first n < 64 bytes are there. */
LEAT_ALWAYS_INLINE void leat_masks_classify_part(const uint8_t *bytes, size_t n,
                                                 const struct leat_cutter *cutter,
                                                 leat_masks_classify_fn *classify,
                                                 struct leat_masks *ret_masks) {
    uint8_t block[64] = {0};
    uint64_t valid = (UINT64_C(1) << n) - 1;

    memcpy(block, bytes, n);
    classify(block, cutter, ret_masks);
    ret_masks->quote &= valid;
    ret_masks->delimiter &= valid;
    ret_masks->lf &= valid;
    ret_masks->cr &= valid;
}

#if defined(__x86_64__)
#define LEAT_AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi")))

static inline bool leat_masks_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi");
}

LEAT_AVX2 LEAT_ALWAYS_INLINE uint64_t leat_masks_equal_avx2(__m256i low, __m256i high,
                                                            uint8_t byte) {
    __m256i pattern = _mm256_set1_epi8((char)byte);
    uint32_t low_mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, pattern));
    uint32_t high_mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, pattern));

    return low_mask | (uint64_t)high_mask << 32;
}

LEAT_AVX2 LEAT_ALWAYS_INLINE void leat_masks_classify_avx2(const uint8_t *block,
                                                           const struct leat_cutter *cutter,
                                                           struct leat_masks *ret_masks) {
    __m256i low = _mm256_loadu_si256((const __m256i_u *)block);
    __m256i high = _mm256_loadu_si256((const __m256i_u *)(block + 32));

    ret_masks->quote = leat_masks_equal_avx2(low, high, cutter->quote);
    ret_masks->delimiter = leat_masks_equal_avx2(low, high, cutter->delimiter);
    ret_masks->lf = leat_masks_equal_avx2(low, high, '\n');
    ret_masks->cr = leat_masks_equal_avx2(low, high, '\r');
}

LEAT_AVX2 LEAT_ALWAYS_INLINE uint64_t leat_masks_prefix_xor_clmul(uint64_t mask) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)mask), _mm_set1_epi8(-1), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
}
#endif
