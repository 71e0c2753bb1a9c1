/* shared_chartrie.h: a trie of given tokens and an encoder on malloc, for the tests of the
 * tokenizer. */
#pragma once

#include "pipeline/tokenizer/chartrie/chartrie.h"

struct test_trie {
    struct leat_vocab *vocab;
    struct leat_chartrie *trie;
    struct leat_encoder encoder;
    void *blocks[256]; /* of the encoder */
    size_t n_blocks;
    size_t n_bytes_allocated;
};

/* A vocabulary of lines; scores may be NULL. Asserts that it loads. */
void test_trie_init(struct test_trie *test, const char *lines, size_t n_bytes, const char *scores,
                    const struct leat_chartrie_options *options);
void test_trie_deinit(struct test_trie *test);

/* Frees the encoder's memory and begins a new one. */
void test_trie_reset(struct test_trie *test);

/* Encodes one text: the row, whose ids are test->encoder.ids + first_id. */
struct leat_encoder_row test_trie_encode(struct test_trie *test, const void *text, size_t n_bytes,
                                         uint64_t key);
