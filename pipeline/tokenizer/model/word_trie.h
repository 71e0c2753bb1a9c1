/* word_trie.h: the tokens of a model as a trie, for walks along a word.
 *
 * A double array (double_array.h) whose bases carry a bit, LEAT_WORD_TRIE_END, where a token ends:
 * so a walk that looks for the longest token, or for all, touches one array of 8 bytes a node.
 *
 * With is_byte_level, keys are the raw bytes that a token's characters of GPT-2's alphabet stand
 * for, and a token with other characters, which no word can reach, is left out. The empty token is
 * left out as well. Immutable once built: any thread.
 */
#pragma once

#include "pipeline/tokenizer/double_array.h"
#include "pipeline/tokenizer/token_table.h"

#define LEAT_WORD_TRIE_ROOT LEAT_DOUBLE_ARRAY_ROOT
#define LEAT_WORD_TRIE_END  UINT32_C(0x80000000)

struct leat_word_trie {
    struct leat_double_array_node *nodes;
    uint32_t *ids; /* by node, where a token ends */
    uint32_t n_nodes;
    uint32_t n_longest; /* bytes of the longest token */
};

/* 0, -ENOMEM, -E2BIG. */
int leat_word_trie_build(struct leat_word_trie *trie, const struct leat_token_table *tokens,
                         bool is_byte_level, struct leat_error *err);
void leat_word_trie_deinit(struct leat_word_trie *trie); /* of a zeroed one too */
size_t leat_word_trie_n_bytes(const struct leat_word_trie *trie);

/* One step: the node reached from `base` by a byte, or 0. The next base is nodes[node].base without
 * LEAT_WORD_TRIE_END. From base 0, that of nodes without children, no byte leads anywhere. */
static inline uint32_t leat_word_trie_step(const struct leat_word_trie *trie, uint32_t base,
                                           uint8_t byte) {
    uint32_t node = base ^ byte;

    return trie->nodes[node].check == base ? node : 0;
}

/* The base that those bytes lead to; 0: no token goes on from them. */
uint32_t leat_word_trie_base(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes);

/* The id of the token that is exactly these bytes, or -1. */
int32_t leat_word_trie_find(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes);
