/* ascii.h: runs of ASCII, 16 bytes at a time.
 *
 * A map says what becomes of a run: capital letters may become small, some controls blanks; all
 * else, other controls and all beyond ASCII, is special and ends the run.
 *
 * All read up to 15 bytes after the text (LEAT_TEXT_PADDING allows for it), and copying writes as
 * many after what it returns. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/simd.h"

#define LEAT_ASCII_BLOCK 16
#define LEAT_ASCII_NONE  0xff /* no byte of any text */

struct leat_ascii_map {
    bool is_lowering;
    bool keeps_controls; /* none is special */
    uint8_t blanks[3];   /* these become ' '; or NONE */
};

/* Bit i: byte i is at least `limit` (128..255). */
static inline uint32_t leat_ascii_mask_high(const uint8_t *block, uint8_t limit) {
    return leat_bytes16_mask((leat_bytes16)(leat_bytes16_load(block) >= limit));
}

static inline uint32_t leat_ascii_mask_equal(const uint8_t *block, uint8_t byte) {
    return leat_bytes16_mask((leat_bytes16)(leat_bytes16_load(block) == byte));
}

/* Maps a block; returns which bytes are special, and in *ret_changed which are others now. */
static inline uint32_t leat_ascii_map_block(const struct leat_ascii_map *map, const uint8_t *block,
                                            uint8_t *ret_block, uint32_t *ret_changed) {
    leat_bytes16 bytes = leat_bytes16_load(block);
    leat_signed16 number = (leat_signed16)bytes; /* 0x80.. are below 0 */
    leat_bytes16 blank = (leat_bytes16)((bytes == map->blanks[0]) | (bytes == map->blanks[1]) |
                                        (bytes == map->blanks[2]));
    leat_bytes16 special = map->keeps_controls
                               ? (leat_bytes16)(number < 0)
                               : (leat_bytes16)((number < 0x20) | (number == 0x7f)) & ~blank;
    leat_bytes16 out = (bytes & ~blank) | (blank & 0x20);

    if (map->is_lowering)
        out |= (leat_bytes16)((number > '@') & (number < '[')) & 0x20;
    memcpy(ret_block, &out, sizeof(out));
    *ret_changed = 0xffff ^ leat_bytes16_mask((leat_bytes16)(out == bytes));
    return leat_bytes16_mask(special);
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
