/* bpe_cut.c: the set of joined characters. See bpe_cut.h. */
#include "pipeline/tokenizer/model/bpe_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* One to three bytes and their number, as one value. */
static uint32_t context(const uint8_t *bytes, uint32_t n) {
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
    add_bit(joins, context(left + n_left - n_before, n_before), context(right, n_behind));
}

static bool is_joined(const struct leat_bpe_joins *joins, const uint8_t *word, uint32_t at,
                      uint32_t n_bytes) {
    if (!(joins->pairs[word[at - 1]][word[at] >> 6] >> (word[at] & 63) & 1))
        return false;
    if ((word[at - 1] & word[at]) < 0x80)
        return true; /* of ASCII the one byte is the character */
    for (uint32_t n_before = 1; n_before <= CONTEXT_MAX && n_before <= at; n_before++) {
        uint32_t before = context(word + at - n_before, n_before);

        for (uint32_t n = 1; n <= CONTEXT_MAX && n <= n_bytes - at; n++) {
            uint32_t bit = leat_bpe_joins_bit(joins, before, context(word + at, n));

            if (joins->bits[bit >> 6] >> (bit & 63) & 1)
                return true;
        }
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
