/* bpe_pairs.c: building the table of merges. See bpe_pairs.h. */
#include "pipeline/tokenizer/model/bpe_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOW_PAIRS   65536
#define SMALL_MODEL 16384 /* merges: below, a quarter of a megabyte is too much */

static size_t n_id_words(const struct leat_bpe_pairs *pairs) {
    return pairs->n_ids / 64 + 1;
}

int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, uint32_t n, uint32_t n_ids) {
    size_t n_bytes;

    pairs->n_slots = n + (uint64_t)n * 3 / 5 + 8;
    pairs->n_merges = n;
    n_bytes = (pairs->n_slots + 1) * sizeof(*pairs->slots);
    pairs->slots = malloc(n_bytes);
    pairs->ids = calloc((size_t)n + 1, sizeof(*pairs->ids));
    pairs->n_ids = n_ids < LEAT_BPE_IDS_MAX ? n_ids : LEAT_BPE_IDS_MAX;
    pairs->firsts = calloc(n_id_words(pairs), sizeof(*pairs->firsts));
    pairs->seconds = calloc(n_id_words(pairs), sizeof(*pairs->seconds));
    if (n >= SMALL_MODEL)
        pairs->low = malloc(LOW_PAIRS * sizeof(*pairs->low));
    if (!pairs->slots || !pairs->ids || !pairs->firsts || !pairs->seconds ||
        (n >= SMALL_MODEL && !pairs->low))
        return -ENOMEM;
    memset(pairs->slots, 0xff, n_bytes);
    for (uint32_t i = 0; pairs->low && i < LOW_PAIRS; i++)
        pairs->low[i] = LEAT_BPE_NO_RANK;
    return 0;
}

void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs) {
    free(pairs->slots);
    free(pairs->firsts);
    free(pairs->seconds);
    free(pairs->ids);
    free(pairs->low);
    *pairs = (struct leat_bpe_pairs){0};
}

size_t leat_bpe_pairs_n_bytes(const struct leat_bpe_pairs *pairs) {
    return (pairs->n_slots + 1) * sizeof(*pairs->slots) +
           (pairs->ids ? pairs->n_merges * sizeof(*pairs->ids) : 0) +
           2 * n_id_words(pairs) * sizeof(*pairs->firsts) +
           (pairs->low ? LOW_PAIRS * sizeof(*pairs->low) : 0);
}

void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank,
                        uint32_t id) {
    uint64_t key = leat_bpe_pairs_key(left, right), i = leat_bpe_pairs_slot(pairs, key);

    while (pairs->slots[i] != UINT64_MAX && pairs->slots[i] >> LEAT_BPE_RANK_BITS != key)
        i = i + 1 == pairs->n_slots ? 0 : i + 1;
    pairs->slots[i] = key << LEAT_BPE_RANK_BITS | rank;
    pairs->ids[rank] = id;
    pairs->firsts[left >> 6] |= UINT64_C(1) << (left & 63);
    pairs->seconds[right >> 6] |= UINT64_C(1) << (right & 63);
    if (pairs->low && (left | right) < 256)
        pairs->low[left << 8 | right] = rank;
}

/* In most vocabularies a merge makes the id after that of the merge before it. */
void leat_bpe_pairs_finish(struct leat_bpe_pairs *pairs) {
    pairs->first_id = pairs->ids[0];
    for (uint32_t rank = 0; rank < pairs->n_merges; rank++)
        if (pairs->ids[rank] != pairs->first_id + rank)
            return;
    free(pairs->ids);
    pairs->ids = NULL;
}
