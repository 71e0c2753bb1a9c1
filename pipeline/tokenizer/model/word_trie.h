/* word_trie.h: the tokens of a model as a trie, for walks along a word.
 *
 * A double array (double_array.h) of the shortest prefixes that tell the tokens apart; what is left
 * of a token after its prefix is its tail, bytes that need no nodes (the minimal-prefix trie of
 * Aoe 1989). That takes a third of the nodes, and of the time to load. Two bits of a node's base
 * say whether a token ends there, or goes on as a tail, then base is the place of the tail: so a
 * walk, for the longest token or for all, touches one array of 8 bytes a node.
 *
 * With is_byte_level, keys are the raw bytes that a token's characters of GPT-2's alphabet stand
 * for, and a token with other characters, which no word can reach, is left out. The empty token is
 * left out as well. Immutable once built: any thread.
 */
#pragma once

#include "pipeline/tokenizer/double_array.h"
#include "pipeline/tokenizer/token_table.h"

#define LEAT_WORD_TRIE_TOKEN_MAX 16384 /* bytes: time to encode grows with the longest */

#define LEAT_WORD_TRIE_ROOT LEAT_DOUBLE_ARRAY_ROOT
#define LEAT_WORD_TRIE_END  UINT32_C(0x80000000)
#define LEAT_WORD_TRIE_TAIL UINT32_C(0x40000000)
#define LEAT_WORD_TRIE_BASE UINT32_C(0x3fffffff)

struct leat_word_trie {
    struct leat_double_array_node *nodes;
    uint32_t *ids;  /* by node, where a token ends or goes on as a tail */
    uint8_t *tails; /* of each its length, 1 to 255, and its bytes */
    size_t n_tails; /* bytes */
    uint32_t n_nodes;
    uint32_t n_longest; /* bytes of the longest token */
};

/* prefix: of tokens that start with it, at least one more byte has nodes, so that
 * leat_word_trie_base leads there. 0, -ENOMEM, -E2BIG: too many nodes, or a token
 * above LEAT_WORD_TRIE_TOKEN_MAX. */
int leat_word_trie_build(struct leat_word_trie *trie, const struct leat_token_table *tokens,
                         bool is_byte_level, const void *prefix, size_t n_prefix,
                         struct leat_error *err);
void leat_word_trie_deinit(struct leat_word_trie *trie); /* of a zeroed one too */
size_t leat_word_trie_n_bytes(const struct leat_word_trie *trie);

/* One step: the node reached from `base` by a byte, or 0. From base 0, that of nodes without
 * children, no byte leads anywhere. What to do with nodes[node].base:
 *     END: a token ends here
 *     TAIL: leat_word_trie_tail says whether the token goes on as the word does; the walk ends
 *     & BASE: otherwise the base to go on from */
static inline uint32_t leat_word_trie_step(const struct leat_word_trie *trie, uint32_t base,
                                           uint8_t byte) {
    uint32_t node = base ^ byte;

    return trie->nodes[node].check == base ? node : 0;
}

/* True if ids[node] is an id. */
static inline bool leat_word_trie_has_id(const struct leat_word_trie *trie, uint32_t node) {
    return trie->ids[node] != LEAT_DOUBLE_ARRAY_NONE;
}

/* The bytes of a node's tail, if the word goes on with them; else 0. */
static inline uint32_t leat_word_trie_tail(const struct leat_word_trie *trie, uint32_t base,
                                           const uint8_t *word, uint32_t n_bytes) {
    const uint8_t *tail = trie->tails + (base & LEAT_WORD_TRIE_BASE);
    uint32_t n = *tail++;

    if (n > n_bytes)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (tail[i] != word[i])
            return 0;
    return n;
}

/* The base that those bytes, at most the prefix that the trie was built with, lead to; 0: no token
 * goes on from them. */
uint32_t leat_word_trie_base(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes);

/* The id of the token that is exactly these bytes, or -1. */
int32_t leat_word_trie_find(const struct leat_word_trie *trie, const uint8_t *bytes,
                            uint32_t n_bytes);
