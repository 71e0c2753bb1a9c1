/* ascii.h: runs of ASCII, 16 bytes at a time.
 *
 * What happens to a run is a map: capital letters may become small, some controls blanks; all else,
 * other controls and all beyond ASCII, is special and ends the run.
 *
 * All read up to 15 bytes after the text (LEAT_TEXT_PADDING allows for it), and copying writes as
 * many after what it returns. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <emmintrin.h>

#define LEAT_ASCII_BLOCK 16
#define LEAT_ASCII_NONE  0xff /* no byte of any text */

struct leat_ascii_map {
    bool is_lowering;
    bool keeps_controls; /* none is special */
    uint8_t blanks[3];   /* these become ' '; or NONE */
};

/* Bit i: byte i is at least `limit` (128..255). */
static inline uint32_t leat_ascii_mask_high(const uint8_t *block, uint8_t limit) {
    __m128i bytes = _mm_loadu_si128((const void *)block), low = _mm_set1_epi8((char)limit);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, low), bytes));
}

static inline uint32_t leat_ascii_mask_equal(const uint8_t *block, uint8_t byte) {
    __m128i bytes = _mm_loadu_si128((const void *)block);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte)));
}

/* Maps a block; returns which bytes are special, and in *ret_changed which are others now. */
static inline uint32_t leat_ascii_map_block(const struct leat_ascii_map *map, const uint8_t *block,
                                            uint8_t *ret_block, uint32_t *ret_changed) {
    __m128i bytes = _mm_loadu_si128((const void *)block), space = _mm_set1_epi8(0x20);
    __m128i blank =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)map->blanks[0])),
                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)map->blanks[1]))),
                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)map->blanks[2])));
    /* As signed bytes, 0x80.. are below 0x20 too. */
    __m128i special =
        map->keeps_controls
            ? bytes
            : _mm_andnot_si128(blank, _mm_or_si128(_mm_cmplt_epi8(bytes, space),
                                                   _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f))));
    __m128i capital = _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8('@')),
                                    _mm_cmplt_epi8(bytes, _mm_set1_epi8('[')));
    __m128i out = _mm_or_si128(_mm_andnot_si128(blank, bytes), _mm_and_si128(blank, space));

    if (map->is_lowering)
        out = _mm_or_si128(out, _mm_and_si128(capital, space));
    _mm_storeu_si128((void *)ret_block, out);
    *ret_changed = 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(out, bytes));
    return (uint32_t)_mm_movemask_epi8(special);
}

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

/* The first place from `at` on that is special or that the map changes, or n. */
static inline uint32_t leat_ascii_find_change(const struct leat_ascii_map *map, const uint8_t *text,
                                              uint32_t at, uint32_t n) {
    for (; at < n; at += LEAT_ASCII_BLOCK) {
        uint8_t block[LEAT_ASCII_BLOCK];
        uint32_t changed, mask = leat_ascii_map_block(map, text + at, block, &changed);

        mask |= changed;
        if (mask) {
            at += (uint32_t)__builtin_ctz(mask);
            return at < n ? at : n;
        }
    }
    return n;
}

/* Copies through the map up to the first byte that is special; returns how many of the n. */
static inline uint32_t leat_ascii_copy(const struct leat_ascii_map *map, const uint8_t *text,
                                       uint32_t n, uint8_t *target) {
    for (uint32_t at = 0; at < n; at += LEAT_ASCII_BLOCK) {
        uint32_t changed, mask = leat_ascii_map_block(map, text + at, target + at, &changed);

        if (mask) {
            at += (uint32_t)__builtin_ctz(mask);
            return at < n ? at : n;
        }
    }
    return n;
}
