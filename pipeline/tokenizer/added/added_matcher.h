/* added_matcher.h: finding literal tokens in a text, leftmost first, of those the longest.
 *
 * Most texts hold none, so places are sieved 32 at a time by their first two bytes (nibble lookups
 * as in Hyperscan's Teddy) before a trie is asked.
 *
 * Built once, then immutable: any thread.
 */
#pragma once

#include "pipeline/tokenizer/double_array.h"
#include "pipeline/tokenizer/text.h"

#define LEAT_ADDED_MATCHER_NONE UINT32_MAX

struct leat_added_matcher {
    struct leat_double_array trie;
    uint8_t first[256], second[256]; /* buckets, a bit each, that a byte occurs in */
    uint8_t nibbles[4][16];          /* of first low, first high, second low, second high */
    bool is_empty;
};

struct leat_added_pattern {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 1.. */
    uint32_t value;
};

/* Patterns may be in any order; of equal ones the first counts. 0, -ENOMEM, -E2BIG. */
int leat_added_matcher_init(struct leat_added_matcher *matcher,
                            const struct leat_added_pattern *patterns, size_t n_patterns,
                            struct leat_error *err);
void leat_added_matcher_deinit(struct leat_added_matcher *matcher); /* of a zeroed one too */
size_t leat_added_matcher_n_bytes(const struct leat_added_matcher *matcher);

/* The first match at or after `from`: its value, or NONE. text: padded (text.h). */
uint32_t leat_added_matcher_find(const struct leat_added_matcher *matcher,
                                 const struct leat_text_view *text, uint32_t from,
                                 struct leat_range *ret_match);
