/* bpe_cut.c: the set of joined characters. See bpe_cut.h. */
#include "pipeline/tokenizer/model/bpe_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/simd.h"

#define BITS_PER_PAIR 4 /* most merges join a pair of characters that another one joins too */

int leat_bpe_joins_init(struct leat_bpe_joins *joins, size_t n) {
    *joins = (struct leat_bpe_joins){.n_bits_log2 = 10};
    while ((size_t)1 << joins->n_bits_log2 < n * BITS_PER_PAIR)
        joins->n_bits_log2++;
    joins->bits = calloc(((size_t)1 << joins->n_bits_log2) / 64, sizeof(*joins->bits));
    return joins->bits ? 0 : -ENOMEM;
}

void leat_bpe_joins_deinit(struct leat_bpe_joins *joins) {
    free(joins->bits);
    joins->bits = NULL;
}

size_t leat_bpe_joins_n_bytes(const struct leat_bpe_joins *joins) {
    return joins->bits ? ((size_t)1 << joins->n_bits_log2) / 8 : 0;
}

void leat_bpe_joins_add(struct leat_bpe_joins *joins, uint32_t left, uint32_t right) {
    uint32_t bit;

    if ((left | right) < 128) {
        joins->pairs[left][right >> 6] |= UINT64_C(1) << (right & 63);
        return;
    }
    bit = leat_bpe_joins_bit(joins, left, right);
    joins->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

#define CONTEXT_MAX 3 /* bytes on each side: a character, for most that are not ASCII */

static void add_bit(struct leat_bpe_joins *joins, uint32_t left, uint32_t right) {
    uint32_t bit = leat_bpe_joins_bit(joins, left, right);

    joins->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

/* Contexts of that many bytes before a boundary and behind it. */
static uint16_t size_bit(uint32_t n_before, uint32_t n_behind) {
    return (uint16_t)(1U << ((n_before - 1) << 2 | (n_behind - 1)));
}

/* One to three bytes and their number, as one value. */
LEAT_ALWAYS_INLINE uint32_t context(const uint8_t *bytes, uint32_t n) {
    uint32_t value = n;

    for (uint32_t i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

void leat_bpe_joins_add_bytes(struct leat_bpe_joins *joins, const uint8_t *left, size_t n_left,
                              const uint8_t *right, size_t n_right) {
    uint32_t n_before = n_left < CONTEXT_MAX ? (uint32_t)n_left : CONTEXT_MAX;
    uint32_t n_behind = n_right < CONTEXT_MAX ? (uint32_t)n_right : CONTEXT_MAX;
    uint8_t before = left[n_left - 1], behind = right[0];

    joins->pairs[before][behind >> 6] |= UINT64_C(1) << (behind & 63);
    joins->before[before] |= size_bit(n_before, n_behind);
    joins->behind[behind] |= size_bit(n_before, n_behind);
    add_bit(joins, context(left + n_left - n_before, n_before), context(right, n_behind));
}

/* All contexts at a boundary; 0: the word is too short for it, and there is none like that. */
static inline void contexts_of(const uint8_t *word, uint32_t at, uint32_t n_bytes,
                               uint32_t before[CONTEXT_MAX], uint32_t behind[CONTEXT_MAX]) {
    before[0] = context(word + at - 1, 1);
    before[1] = at > 1 ? context(word + at - 2, 2) : 0;
    before[2] = at > 2 ? context(word + at - 3, 3) : 0;
    behind[0] = context(word + at, 1);
    behind[1] = n_bytes - at > 1 ? context(word + at, 2) : 0;
    behind[2] = n_bytes - at > 2 ? context(word + at, 3) : 0;
}

static bool is_joined(const struct leat_bpe_joins *joins, const uint8_t *word, uint32_t at,
                      uint32_t n_bytes) {
    uint32_t before[CONTEXT_MAX], behind[CONTEXT_MAX], sizes;

    if (!(joins->pairs[word[at - 1]][word[at] >> 6] >> (word[at] & 63) & 1))
        return false;
    if ((word[at - 1] & word[at]) < 0x80)
        return true; /* of ASCII the one byte is the character */
    sizes = joins->before[word[at - 1]] & joins->behind[word[at]];
    if (!sizes)
        return false;
    contexts_of(word, at, n_bytes, before, behind);
    for (; sizes; sizes &= sizes - 1) {
        uint32_t size = (uint32_t)__builtin_ctz(sizes);
        uint32_t bit = leat_bpe_joins_bit(joins, before[size >> 2], behind[size & 3]);

        if (joins->bits[bit >> 6] >> (bit & 63) & 1)
            return true;
    }
    return false;
}

uint32_t leat_bpe_joins_next_cut(const struct leat_bpe_joins *joins, const uint8_t *word,
                                 uint32_t from, uint32_t n_bytes) {
    for (uint32_t at = from + 1; at < n_bytes; at++)
        if ((word[at] & 0xc0) != 0x80 && !is_joined(joins, word, at, n_bytes))
            return at;
    return n_bytes;
}
