/* cut/masks.h: 64 bytes of CSV or lines as bit masks, for the files that cut by them
 * (cut/blocks.c, cut/fields.c). Bit i of a mask is byte i.
 *
 * A loop over blocks is written once, takes classify and prefix_xor as arguments, and is inlined
 * twice: for words of 8 bytes, and for vectors (proto/base/simd.h) with a prefix xor that is a
 * carry-less multiplication where there is one (Langdale and Lemire, Parsing Gigabytes of JSON per
 * Second, 2019). Masks that a loop does not look at cost nothing.
 */
#pragma once

#include <string.h>

#include "pipeline/cut/format.h"
#include "proto/base/simd.h"

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

LEAT_SIMD_INLINE uint64_t leat_masks_equal_simd(leat_bytes32 low, leat_bytes32 high, uint8_t byte) {
    return leat_bytes64_mask(leat_bytes32_equal(low, byte), leat_bytes32_equal(high, byte));
}

LEAT_SIMD_INLINE void leat_masks_classify_simd(const uint8_t *block,
                                               const struct leat_cutter *cutter,
                                               struct leat_masks *ret_masks) {
    leat_bytes32 low = leat_bytes32_load(block), high = leat_bytes32_load(block + 32);

    ret_masks->quote = leat_masks_equal_simd(low, high, cutter->quote);
    ret_masks->delimiter = leat_masks_equal_simd(low, high, cutter->delimiter);
    ret_masks->lf = leat_masks_equal_simd(low, high, '\n');
    ret_masks->cr = leat_masks_equal_simd(low, high, '\r');
}
