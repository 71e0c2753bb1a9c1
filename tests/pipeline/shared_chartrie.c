/* shared_chartrie.c: see shared_chartrie.h. */
#include "shared_chartrie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *take_block(struct test_trie *test, size_t n_bytes) {
    void *block = malloc(n_bytes ? n_bytes : 1);

    assert_non_null(block);
    assert_true(test->n_blocks < sizeof(test->blocks) / sizeof(test->blocks[0]));
    test->blocks[test->n_blocks++] = block;
    test->n_bytes_allocated += n_bytes;
    return block;
}

static void *allocate(void *context, size_t n_bytes) {
    return take_block(context, n_bytes);
}

static void *reserve(void *context, size_t min_bytes, size_t *ret_size) {
    *ret_size = min_bytes;
    return take_block(context, min_bytes);
}

void test_trie_init(struct test_trie *test, const char *lines, size_t n_bytes, const char *scores,
                    const struct leat_chartrie_options *options) {
    struct leat_error err = LEAT_ERROR_INIT;

    *test = (struct test_trie){.n_blocks = 0};
    if (leat_vocab_new(lines, n_bytes, LEAT_TOKEN_ENCODING_RAW, "vocab.txt", &test->vocab, &err))
        fail_msg("%s", err.message);
    if (scores && leat_vocab_read_costs(test->vocab, scores, strlen(scores), "scores.txt", &err))
        fail_msg("%s", err.message);
    if (leat_chartrie_new(test->vocab, options, &test->trie, &err))
        fail_msg("%s", err.message);
    test_trie_reset(test);
}

void test_trie_reset(struct test_trie *test) {
    while (test->n_blocks)
        free(test->blocks[--test->n_blocks]);
    test->n_bytes_allocated = 0;
    test->encoder = (struct leat_encoder){
        .memory = {.context = test, .allocate = allocate, .reserve = reserve}};
}

void test_trie_deinit(struct test_trie *test) {
    test_trie_reset(test);
    leat_chartrie_free(test->trie);
    leat_vocab_free(test->vocab);
}

struct leat_encoder_row test_trie_encode(struct test_trie *test, const void *text, size_t n_bytes,
                                         uint64_t key) {
    struct leat_encoder_row row = {.text = text, .n_bytes = (uint32_t)n_bytes, .key = key};
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_chartrie_encode(test->trie, &test->encoder, &row, 1, &err), 0);
    return row;
}
