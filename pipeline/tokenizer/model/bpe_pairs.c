/* bpe_pairs.c: building the table of merges. See bpe_pairs.h. */
#include "pipeline/tokenizer/model/bpe_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOW_PAIRS   65536
#define SMALL_MODEL 16384 /* merges: below, a quarter of a megabyte is too much */

int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, uint32_t n) {
    size_t n_bytes;

    pairs->n_slots = n + (uint64_t)n * 3 / 5 + 8;
    pairs->n_merges = n;
    n_bytes = (pairs->n_slots + 1) * sizeof(*pairs->slots);
    pairs->slots = malloc(n_bytes);
    pairs->ids = calloc((size_t)n + 1, sizeof(*pairs->ids));
    if (n >= SMALL_MODEL)
        pairs->low = malloc(LOW_PAIRS * sizeof(*pairs->low));
    if (!pairs->slots || !pairs->ids || (n >= SMALL_MODEL && !pairs->low))
        return -ENOMEM;
    memset(pairs->slots, 0xff, n_bytes);
    for (uint32_t i = 0; pairs->low && i < LOW_PAIRS; i++)
        pairs->low[i] = LEAT_BPE_NO_RANK;
    return 0;
}

void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs) {
    free(pairs->slots);
    free(pairs->ids);
    free(pairs->low);
    *pairs = (struct leat_bpe_pairs){0};
}

size_t leat_bpe_pairs_n_bytes(const struct leat_bpe_pairs *pairs) {
    return (pairs->n_slots + 1) * sizeof(*pairs->slots) + pairs->n_merges * sizeof(*pairs->ids) +
           (pairs->low ? LOW_PAIRS * sizeof(*pairs->low) : 0);
}

void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank,
                        uint32_t id) {
    uint64_t key = leat_bpe_pairs_key(left, right), i = leat_bpe_pairs_slot(pairs, key);

    while (pairs->slots[i] != UINT64_MAX && pairs->slots[i] >> LEAT_BPE_RANK_BITS != key)
        i = i + 1 == pairs->n_slots ? 0 : i + 1;
    pairs->slots[i] = key << LEAT_BPE_RANK_BITS | rank;
    pairs->ids[rank] = id;
    if (pairs->low && (left | right) < 256)
        pairs->low[left << 8 | right] = rank;
}
