/* bpe_cut.c: the set of joined characters. See bpe_cut.h. */
#include "pipeline/tokenizer/model/bpe_cut.h"

#include <errno.h>
#include <stdlib.h>

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
        joins->ascii[left][right >> 6] |= UINT64_C(1) << (right & 63);
        return;
    }
    bit = leat_bpe_joins_bit(joins, left, right);
    joins->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
}
