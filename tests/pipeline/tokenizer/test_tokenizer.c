/* test_tokenizer.c: pipeline/tokenizer/tokenizer.c, what a tokenizer knows of its tokens; and
 * encode.c, overflow of texts that are tokenized to their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/tokenizer.h"
#include "tests/proto/shared_simd.h"

#define MAX_LENGTH 7
#define IDS_MAX    1000

static struct leat_tokenizer *load(const char *name) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer *tokenizer;
    char path[128];

    (void)snprintf(path, sizeof(path), "tokenizer/data/%s.json", name);
    if (leat_tokenizer_open(path, NULL, &tokenizer, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    return tokenizer;
}

static void check_tokens(const char *name) {
    struct leat_tokenizer *tokenizer = load(name);
    uint32_t n_entries = 0, n_added = 0, n;

    for (int32_t id = 0; id < (int32_t)leat_tokenizer_n_ids(tokenizer); id++) {
        const uint8_t *entry = leat_tokenizer_entry(tokenizer, id, &n);

        assert_true(!entry == !leat_tokenizer_token(tokenizer, id, &(uint32_t){0}));
        n_entries += entry != NULL;
        n_added += leat_tokenizer_is_added(tokenizer, id);
        if (entry && leat_tokenizer_is_added(tokenizer, id))
            assert_int_equal(leat_tokenizer_id(tokenizer, (const char *)entry, n), id);
    }
    assert_int_equal(leat_tokenizer_n_tokens(tokenizer, true), n_entries);
    assert_in_range(leat_tokenizer_n_tokens(tokenizer, false), n_entries - n_added, n_entries);
    assert_null(leat_tokenizer_entry(tokenizer, -1, &n));
    assert_null(leat_tokenizer_entry(tokenizer, INT32_MAX, &n));
    leat_tokenizer_free(tokenizer);
}

static void test_tokens(void **state) {
    static const char *const names[] = {"bert-uncased", "gpt2", "llama2",
                                        "tinyllama",    "t5",   "wordlevel"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_tokens(names[i]);
}

/* ---- overflow */

static const struct leat_encoding *encode(const struct leat_tokenizer *tokenizer,
                                          struct leat_tokenizer_context *context, const char *text,
                                          bool drops_overflow, uint32_t max_length, uint32_t stride,
                                          size_t *ret_n) {
    const struct leat_truncation truncation = {
        .is_on = max_length > 0, .max_length = max_length, .stride = stride};
    const struct leat_encode_options options = {.drops_overflow = drops_overflow,
                                                .truncation = &truncation};
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_encoding *encodings;

    if (leat_tokenizer_encode(tokenizer, context, text, strlen(text), NULL, 0, &options, &encodings,
                              ret_n, &err) < 0)
        fail_msg("%s", err.message);
    return encodings;
}

static void assert_same(const int32_t *ids, const int32_t *expected, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], expected[i]);
}

/* Put together again, the parts are the ids of the text without truncation. */
static void check_overflow(const struct leat_tokenizer *tokenizer,
                           struct leat_tokenizer_context *context, const char *text,
                           uint32_t stride) {
    int32_t whole[IDS_MAX];
    size_t n, n_parts, at = 0;
    const struct leat_encoding *parts = encode(tokenizer, context, text, false, 0, 0, &n_parts);

    assert_int_equal(n_parts, 1);
    n = parts[0].n;
    assert_in_range(n, 0, IDS_MAX);
    for (size_t i = 0; i < n; i++)
        whole[i] = parts[0].ids[i];
    parts = encode(tokenizer, context, text, false, MAX_LENGTH, stride, &n_parts);
    for (size_t i = 0; i < n_parts; i++) {
        assert_true(at + parts[i].n <= n);
        assert_same(parts[i].ids, whole + at, parts[i].n);
        at += i + 1 < n_parts ? parts[i].n - stride : parts[i].n;
    }
    assert_int_equal(at, n);
    /* what is left of it is the same without overflow */
    parts = encode(tokenizer, context, text, true, MAX_LENGTH, stride, &n_parts);
    assert_int_equal(n_parts, 1);
    assert_int_equal(parts[0].n, n < MAX_LENGTH ? n : MAX_LENGTH);
    assert_same(parts[0].ids, whole, parts[0].n);
}

static void test_overflow_is_complete(void **state) {
    static const char *const names[] = {"bert-uncased", "gpt2", "llama2", "t5"};
    static const char *const texts[] = {
        "", "one", "The quick brown fox jumps over the lazy dog, and over the miller.",
        "a b c d e f g h i j k l m n o p q r s t u v w x y z"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct leat_tokenizer *tokenizer = load(names[i]);
        struct leat_tokenizer_context *context;

        assert_int_equal(leat_tokenizer_context_new(tokenizer, &context), 0);
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            for (uint32_t stride = 0; stride < 4; stride++)
                check_overflow(tokenizer, context, texts[k], stride);
        leat_tokenizer_context_free(context);
        leat_tokenizer_free(tokenizer);
    }
}

/* ---- words that are given */

/* One ends within a character, of which each part is what no UTF-8 is. */
static void test_given_words(void **state) {
    static const uint32_t ends[] = {0, 3, 5, 6};
    const struct leat_encode_options options = {.offsets_in_chars = true,
                                                .columns =
                                                    LEAT_ENCODING_OFFSETS | LEAT_ENCODING_WORDS |
                                                    LEAT_ENCODING_SURFACES | LEAT_ENCODING_TEXTS,
                                                .words = {{ends, 4}, {ends, 4}}};
    struct leat_tokenizer *tokenizer = load("gpt2");
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_encoding *encodings;
    struct leat_tokenizer_context *context;
    bool has_word[4] = {false};
    size_t n;

    (void)state;
    assert_int_equal(leat_tokenizer_context_new(tokenizer, &context), 0);
    assert_int_equal(leat_tokenizer_encode(tokenizer, context, "a \xc3\xa9 b", 6, "a \xc3\xa9 b", 6,
                                           &options, &encodings, &n, &err),
                     0);
    assert_int_equal(n, 1);
    for (size_t i = 0; i < encodings[0].n; i++) {
        assert_in_range(encodings[0].words[i], 1, 3);
        has_word[encodings[0].words[i]] = true;
        assert_true(encodings[0].offsets[i].end <= 3);
        assert_int_equal(encodings[0].texts[i], i < encodings[0].n / 2 ? 1 : 2);
    }
    assert_true(has_word[1] && has_word[2] && has_word[3]);
    leat_tokenizer_context_free(context);
    leat_tokenizer_free(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_overflow_is_complete),
        cmocka_unit_test(test_given_words),
    };

    return shared_simd_run_twice(tests, NULL, NULL);
}
