/* bpe_pairs.h: the merges of a BPE model: a pair of token ids to its rank and what it becomes.
 *
 * A hash table with open addressing, at most 5/8 full, 16 bytes a slot. A rank fits 24 bits, so
 * that a rank and a place in a word make one 32-bit key (bpe_merge.c). Filled once, then immutable.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_BPE_MERGES_MAX UINT32_C(0xfffffe)
#define LEAT_BPE_NO_RANK    UINT32_C(0xffffff)

struct leat_bpe_pair {
    uint32_t left, right; /* UINT32_MAX, UINT32_MAX: a free slot */
    uint32_t rank;
    uint32_t id;
};

struct leat_bpe_low_pair {
    uint32_t rank; /* LEAT_BPE_NO_RANK: no pair */
    uint32_t id;
};

struct leat_bpe_pairs {
    struct leat_bpe_pair *slots; /* n_slots, and one free slot behind them */
    uint64_t n_slots;
    struct leat_bpe_low_pair *low; /* [256 * left + right]; NULL in small models */
};

/* Room for n pairs. 0 or -ENOMEM. */
int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, size_t n);
void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs);

size_t leat_bpe_pairs_n_bytes(const struct leat_bpe_pairs *pairs);

/* Of equal pairs the last one added counts. */
void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, const struct leat_bpe_pair *pair);

/* The high half of the product picks a slot in proportion, so that the table has any size. */
static inline uint64_t leat_bpe_pairs_slot(const struct leat_bpe_pairs *pairs, uint32_t left,
                                           uint32_t right) {
    uint64_t hash = (((uint64_t)left << 32) | right) * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return ((hash >> 32) * pairs->n_slots) >> 32;
}

/* The pair, or NULL. */
static inline const struct leat_bpe_pair *leat_bpe_pairs_find(const struct leat_bpe_pairs *pairs,
                                                              uint32_t left, uint32_t right) {
    const struct leat_bpe_pair *slot = pairs->slots + leat_bpe_pairs_slot(pairs, left, right);

    for (;; slot++) {
        if (slot->left == left && slot->right == right)
            return slot;
        if (slot->left == UINT32_MAX) {
            if (slot != pairs->slots + pairs->n_slots)
                return NULL;
            slot = pairs->slots - 1; /* the place behind the last slot leads to the first */
        }
    }
}
