/* cuts.h: where a text can be cut, so that no token crosses a cut.
 *
 * Where no token of the vocabulary holds a certain byte followed by a certain blank, every
 * segmentation of a text is one of what is before that blank and one of what begins with it. The
 * best one is then the best of each side, ties included, as they are decided from the end and those
 * of a side do not depend on the other; and so is the greedy one. Texts are cut before blanks of
 * ASCII where that holds.
 *
 * Immutable once finished: any thread.
 */
#pragma once

#include <stddef.h>

#include "proto/base/simd.h"

#define LEAT_BLANKS_BYTES 64 /* that are looked at together */

struct leat_chartrie_cuts {
    uint8_t joins[256];  /* by byte: a bit for each blank that some token holds behind it */
    uint8_t blanks[256]; /* by byte: the bit of a blank; 0 for another byte */
    bool is_useful;      /* no token holds a space behind a letter of ASCII */
};

/* Of a zeroed one: for each token. Then finish. */
void leat_chartrie_cuts_add(struct leat_chartrie_cuts *cuts, const uint8_t *token,
                            uint32_t n_bytes);
void leat_chartrie_cuts_finish(struct leat_chartrie_cuts *cuts);

/* True if the text has enough blanks for its pieces to be short. */
bool leat_chartrie_has_pieces(const uint8_t *text, size_t n_bytes);

static inline bool leat_chartrie_is_cut(const struct leat_chartrie_cuts *cuts, uint8_t left,
                                        uint8_t right) {
    return cuts->blanks[right] & ~cuts->joins[left];
}

/* The bit of a blank; 0 for another byte. */
static inline uint8_t leat_blank_bit(uint8_t byte) {
    if (byte == ' ')
        return 1U << 5;
    return (uint8_t)(byte >= '\t' && byte <= '\r' ? 1U << (byte - '\t') : 0);
}

/* A bit for each of 64 bytes. */
typedef uint64_t leat_find_blanks_fn(const uint8_t *bytes);

LEAT_ALWAYS_INLINE uint64_t leat_find_blanks_portable(const uint8_t *bytes) {
    uint64_t blanks = 0;

    for (int i = 0; i < LEAT_BLANKS_BYTES; i++)
        blanks |= (uint64_t)(leat_blank_bit(bytes[i]) != 0) << i;
    return blanks;
}

LEAT_SIMD_INLINE uint64_t leat_find_blanks_simd(const uint8_t *bytes) {
    leat_bytes32 low = leat_bytes32_load(bytes), high = leat_bytes32_load(bytes + 32);

    return leat_bytes64_mask(leat_bytes32_equal(low, ' '), leat_bytes32_equal(high, ' ')) |
           leat_bytes64_mask(leat_bytes32_in(low, '\t', '\r' - '\t'),
                             leat_bytes32_in(high, '\t', '\r' - '\t'));
}
