/* bpe_pairs.c: building the table of merges. See bpe_pairs.h. */
#include "pipeline/tokenizer/model/bpe_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOW_PAIRS   65536
#define SMALL_MODEL 16384 /* merges: below, half a megabyte is too much */

static int make_low(struct leat_bpe_pairs *pairs) {
    pairs->low = malloc(LOW_PAIRS * sizeof(*pairs->low));
    if (!pairs->low)
        return -ENOMEM;
    for (uint32_t i = 0; i < LOW_PAIRS; i++)
        pairs->low[i] = (struct leat_bpe_low_pair){.rank = LEAT_BPE_NO_RANK};
    return 0;
}

int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, size_t n) {
    pairs->n_slots = n + n * 3 / 5 + 8;
    pairs->slots = malloc((pairs->n_slots + 1) * sizeof(*pairs->slots));
    if (!pairs->slots)
        return -ENOMEM;
    memset(pairs->slots, 0xff, (pairs->n_slots + 1) * sizeof(*pairs->slots));
    return n < SMALL_MODEL ? 0 : make_low(pairs);
}

void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs) {
    free(pairs->slots);
    free(pairs->low);
    *pairs = (struct leat_bpe_pairs){0};
}

size_t leat_bpe_pairs_n_bytes(const struct leat_bpe_pairs *pairs) {
    return (pairs->n_slots + 1) * sizeof(*pairs->slots) +
           (pairs->low ? LOW_PAIRS * sizeof(*pairs->low) : 0);
}

void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, const struct leat_bpe_pair *pair) {
    uint64_t i = leat_bpe_pairs_slot(pairs, pair->left, pair->right);

    while (pairs->slots[i].left != UINT32_MAX &&
           (pairs->slots[i].left != pair->left || pairs->slots[i].right != pair->right))
        i = i + 1 == pairs->n_slots ? 0 : i + 1;
    pairs->slots[i] = *pair;
    if (pairs->low && (pair->left | pair->right) < 256)
        pairs->low[pair->left << 8 | pair->right] =
            (struct leat_bpe_low_pair){.rank = pair->rank, .id = pair->id};
}
