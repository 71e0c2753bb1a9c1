/* ascii.h: plain runs of text, 16 bytes at a time.
 *
 * All read up to 15 bytes behind the text (LEAT_TEXT_PADDING allows for it), and copying writes as
 * many behind what it returns. Plain is ' ' to '~', and with is_lowering no capital letter. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LEAT_ASCII_BLOCK 16

static inline bool leat_ascii_is_plain(uint8_t byte) {
    return byte >= 0x20 && byte < 0x7f;
}

#if defined(__SSE2__)

/* Bit i: byte i is at least `limit` (128..255). */
static inline uint32_t leat_ascii_mask_high(const uint8_t *block, uint8_t limit) {
    __m128i bytes = _mm_loadu_si128((const void *)block), low = _mm_set1_epi8((char)limit);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, low), bytes));
}

static inline uint32_t leat_ascii_mask_special(const uint8_t *block) {
    __m128i bytes = _mm_loadu_si128((const void *)block);

    /* As signed bytes, 0x80.. are below 0x20 too. */
    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                                                    _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f))));
}

static inline uint32_t leat_ascii_mask_capital(const uint8_t *block) {
    __m128i bytes = _mm_loadu_si128((const void *)block);

    return (uint32_t)_mm_movemask_epi8(_mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8('@')),
                                                     _mm_cmplt_epi8(bytes, _mm_set1_epi8('['))));
}

static inline uint32_t leat_ascii_mask_equal(const uint8_t *block, uint8_t byte) {
    __m128i bytes = _mm_loadu_si128((const void *)block);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
}

static inline void leat_ascii_lower(const uint8_t *block, uint8_t *ret_block) {
    __m128i bytes = _mm_loadu_si128((const void *)block);
    __m128i capital = _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8('@')),
                                    _mm_cmplt_epi8(bytes, _mm_set1_epi8('[')));

    _mm_storeu_si128((void *)ret_block,
                     _mm_or_si128(bytes, _mm_and_si128(capital, _mm_set1_epi8(0x20))));
}

#else

static inline uint32_t leat_ascii_mask_high(const uint8_t *block, uint8_t limit) {
    uint32_t mask = 0;

    for (int i = 0; i < LEAT_ASCII_BLOCK; i++)
        mask |= (uint32_t)(block[i] >= limit) << i;
    return mask;
}

static inline uint32_t leat_ascii_mask_special(const uint8_t *block) {
    uint32_t mask = 0;

    for (int i = 0; i < LEAT_ASCII_BLOCK; i++)
        mask |= (uint32_t)!leat_ascii_is_plain(block[i]) << i;
    return mask;
}

static inline uint32_t leat_ascii_mask_capital(const uint8_t *block) {
    uint32_t mask = 0;

    for (int i = 0; i < LEAT_ASCII_BLOCK; i++)
        mask |= (uint32_t)(block[i] >= 'A' && block[i] <= 'Z') << i;
    return mask;
}

static inline uint32_t leat_ascii_mask_equal(const uint8_t *block, uint8_t byte) {
    uint32_t mask = 0;

    for (int i = 0; i < LEAT_ASCII_BLOCK; i++)
        mask |= (uint32_t)(block[i] == byte) << i;
    return mask;
}

static inline void leat_ascii_lower(const uint8_t *block, uint8_t *ret_block) {
    for (int i = 0; i < LEAT_ASCII_BLOCK; i++)
        ret_block[i] = block[i] >= 'A' && block[i] <= 'Z' ? (uint8_t)(block[i] | 0x20) : block[i];
}

#endif

/* The first place from `at` on whose byte is at least `limit`, or n. */
static inline uint32_t leat_ascii_find_high(const uint8_t *text, uint32_t at, uint32_t n,
                                            uint8_t limit) {
    for (; at < n; at += LEAT_ASCII_BLOCK) {
        uint32_t mask = leat_ascii_mask_high(text + at, limit);

        if (mask) {
            at += (uint32_t)__builtin_ctz(mask);
            return at < n ? at : n;
        }
    }
    return n;
}

/* The first place from `at` on that is not plain, or n. */
static inline uint32_t leat_ascii_find_special(const uint8_t *text, uint32_t at, uint32_t n,
                                               bool is_lowering) {
    for (; at < n; at += LEAT_ASCII_BLOCK) {
        uint32_t mask = leat_ascii_mask_special(text + at);

        if (is_lowering)
            mask |= leat_ascii_mask_capital(text + at);
        if (mask) {
            at += (uint32_t)__builtin_ctz(mask);
            return at < n ? at : n;
        }
    }
    return n;
}

/* Copies, in lower case, up to the first byte that is special; returns how many of the n. */
static inline uint32_t leat_ascii_copy_lower(const uint8_t *text, uint32_t n, uint8_t *target) {
    for (uint32_t at = 0; at < n; at += LEAT_ASCII_BLOCK) {
        uint32_t mask = leat_ascii_mask_special(text + at);

        leat_ascii_lower(text + at, target + at);
        if (mask) {
            at += (uint32_t)__builtin_ctz(mask);
            return at < n ? at : n;
        }
    }
    return n;
}
