/* bpe_pairs.h: the merges of a BPE model: a pair of token ids to its rank, a rank to what it makes.
 *
 * Words that no cache knows cost a dozen searches here, most of them for pairs that are none, so
 * the table is as small as can be: a slot is one 64-bit word, two ids of 20 bits and a rank of 24,
 * in a hash table with open addressing that is at most 5/8 full. Two sets of bits, small enough for
 * a near cache, say which ids begin and end some pair: most tokens do neither. Pairs of ids below
 * 256, which in most vocabularies are the bytes that each word begins as, have a direct table
 * besides. A rank and a place in a word make one 32-bit key (bpe_merge.c). Filled once, then
 * immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_BPE_MERGES_MAX UINT32_C(0xfffffe)
#define LEAT_BPE_IDS_MAX    (UINT32_C(1) << 20) /* ids that take part in merges are below */
#define LEAT_BPE_NO_RANK    UINT32_C(0xffffff)
#define LEAT_BPE_RANK_BITS  24

struct leat_bpe_pairs {
    uint64_t *slots; /* [n_slots + 1]; all ones: free. The last one is always free */
    uint64_t n_slots;
    uint32_t *low;              /* [256 * left + right]: ranks; NULL in small models */
    uint64_t *firsts, *seconds; /* bit: the id is the left one, the right one of some pair */
    uint32_t n_ids;             /* of them; ids from there on are in no pair */
    uint32_t *ids; /* [n_merges]: what the pair of that rank becomes; NULL: rank + first_id */
    uint32_t first_id;
    uint32_t n_merges;
};

/* Room for n merges of ids below n_ids. 0 or -ENOMEM. */
int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, uint32_t n, uint32_t n_ids);
void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs);
size_t leat_bpe_pairs_n_bytes(const struct leat_bpe_pairs *pairs);

/* left and right below LEAT_BPE_IDS_MAX, rank below the n of init. Of equal pairs the last one
 * added counts. */
void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank,
                        uint32_t id);

/* After the last one was added. */
void leat_bpe_pairs_finish(struct leat_bpe_pairs *pairs);

/* What the pair of that rank becomes. */
static inline uint32_t leat_bpe_pairs_id(const struct leat_bpe_pairs *pairs, uint32_t rank) {
    return pairs->ids ? pairs->ids[rank] : pairs->first_id + rank;
}

/* False: that is no pair. */
static inline bool leat_bpe_pairs_may_have(const struct leat_bpe_pairs *pairs, uint32_t left,
                                           uint32_t right) {
    return (left | right) < LEAT_BPE_IDS_MAX && (pairs->firsts[left >> 6] >> (left & 63) &
                                                 pairs->seconds[right >> 6] >> (right & 63) & 1);
}

static inline uint64_t leat_bpe_pairs_key(uint32_t left, uint32_t right) {
    return (uint64_t)left << 20 | right;
}

static inline void leat_bpe_pairs_split(uint64_t key, uint32_t *ret_left, uint32_t *ret_right) {
    *ret_left = (uint32_t)(key >> 20);
    *ret_right = key & (LEAT_BPE_IDS_MAX - 1);
}

/* The high half of the product picks a slot in proportion, so that the table has any size. */
static inline uint64_t leat_bpe_pairs_slot(const struct leat_bpe_pairs *pairs, uint64_t key) {
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return ((hash >> 32) * pairs->n_slots) >> 32;
}

/* The rank of the pair, or NO_RANK. */
static inline uint32_t leat_bpe_pairs_rank(const struct leat_bpe_pairs *pairs, uint32_t left,
                                           uint32_t right) {
    uint64_t key = leat_bpe_pairs_key(left, right);
    const uint64_t *slot = pairs->slots + leat_bpe_pairs_slot(pairs, key);

    if (!leat_bpe_pairs_may_have(pairs, left, right))
        return LEAT_BPE_NO_RANK;
    for (;; slot++) {
        if (*slot >> LEAT_BPE_RANK_BITS == key)
            return *slot & LEAT_BPE_NO_RANK;
        if (*slot == UINT64_MAX) {
            if (slot != pairs->slots + pairs->n_slots)
                return LEAT_BPE_NO_RANK;
            slot = pairs->slots - 1; /* after the last slot comes the first */
        }
    }
}
