/* bpe_pairs.c: building the table of merges. See bpe_pairs.h. */
#include "pipeline/tokenizer/model/bpe_pairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int leat_bpe_pairs_init(struct leat_bpe_pairs *pairs, size_t n) {
    pairs->n_slots = n + n * 3 / 5 + 8;
    pairs->slots = malloc((pairs->n_slots + 1) * sizeof(*pairs->slots));
    if (!pairs->slots)
        return -ENOMEM;
    memset(pairs->slots, 0xff, (pairs->n_slots + 1) * sizeof(*pairs->slots));
    return 0;
}

void leat_bpe_pairs_deinit(struct leat_bpe_pairs *pairs) {
    free(pairs->slots);
    *pairs = (struct leat_bpe_pairs){0};
}

void leat_bpe_pairs_add(struct leat_bpe_pairs *pairs, const struct leat_bpe_pair *pair) {
    uint64_t i = leat_bpe_pairs_slot(pairs, pair->left, pair->right);

    while (pairs->slots[i].left != UINT32_MAX &&
           (pairs->slots[i].left != pair->left || pairs->slots[i].right != pair->right))
        i = i + 1 == pairs->n_slots ? 0 : i + 1;
    pairs->slots[i] = *pair;
}
