/* bpe_cut.h: where a word can be cut without changing its tokens.
 *
 * Two neighbouring characters are ever merged over only if some merge joins a token that ends in
 * the one to a token that begins with the other. Where no merge does, the boundary stands in every
 * result, whatever surrounds it: the parts can be merged apart from each other, and cached. In
 * sentencepiece's vocabularies that is so before almost each U+2581, so that a whole document, one
 * word to such a model, falls into pieces of the size of words.
 *
 * The pairs of characters that are joined are kept as a set of bits by hash: a false hit only keeps
 * a boundary that could have been cut. Filled once, then immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_bpe_joins {
    uint64_t pairs[256][4]; /* bit right of pairs[left]: ASCII characters, or bytes */
    uint64_t *bits;         /* all other pairs; 2^shift bits */
    uint32_t n_bits_log2;
    uint16_t before[256], behind[256]; /* by the bytes at a boundary: bit of each size of context */
};

/* Room for about n pairs. 0 or -ENOMEM. */
int leat_bpe_joins_init(struct leat_bpe_joins *joins, size_t n);
void leat_bpe_joins_deinit(struct leat_bpe_joins *joins);
size_t leat_bpe_joins_n_bytes(const struct leat_bpe_joins *joins);

static inline uint32_t leat_bpe_joins_bit(const struct leat_bpe_joins *joins, uint32_t left,
                                          uint32_t right) {
    uint64_t hash = (((uint64_t)left << 32) | right) * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> (64 - joins->n_bits_log2));
}

/* left, right: code points. */
static inline bool leat_bpe_joins_has(const struct leat_bpe_joins *joins, uint32_t left,
                                      uint32_t right) {
    uint32_t bit;

    if ((left | right) < 128)
        return joins->pairs[left][right >> 6] >> (right & 63) & 1;
    bit = leat_bpe_joins_bit(joins, left, right);
    return joins->bits[bit >> 6] >> (bit & 63) & 1;
}

void leat_bpe_joins_add(struct leat_bpe_joins *joins, uint32_t left, uint32_t right);

/* The same for the two parts of a merge of a byte-level model, each of one byte or more. */
void leat_bpe_joins_add_bytes(struct leat_bpe_joins *joins, const uint8_t *left, size_t n_left,
                              const uint8_t *right, size_t n_right);

/* The first place after `from` where a word of a byte-level model can be cut; n_bytes: nowhere. */
uint32_t leat_bpe_joins_next_cut(const struct leat_bpe_joins *joins, const uint8_t *word,
                                 uint32_t from, uint32_t n_bytes);
