/* WordPiece against what Hugging Face `tokenizers` 0.23.2 gives for small vocabularies, and against
 * a search by trying all lengths in random ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "tests/pipeline/shared_model.h"

#define REST                                                                                       \
    ", \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "                          \
    "\"max_input_chars_per_word\": 5}"

static void load(struct test_model *test, const char *json, bool is_byte_level) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (test_model_init(test, &leat_model_wordpiece, json, is_byte_level, &err) < 0)
        fail_msg("%s: %s", err.path, err.message);
}

static void test_longest_match(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"vocab\": {\"[UNK]\": 0, \"a\": 1, \"##b\": 2, \"##\": 3, \"\": 4, \"##a##b\": 5, "
         "\"\u00e9\": 6, \"##\u00e9\": 7, \"ab\": 8, \"##bb\": 9}" REST,
         false);
    TEST_MODEL_EXPECT(&test, "ab", {8, {0, 2}});
    TEST_MODEL_EXPECT(&test, "abb", {8, {0, 2}}, {2, {2, 3}});
    TEST_MODEL_EXPECT(&test, "abbb", {8, {0, 2}}, {9, {2, 4}});
    TEST_MODEL_EXPECT(&test, "##", {3, {0, 2}});
    TEST_MODEL_EXPECT(&test, "##b", {2, {0, 3}});
    TEST_MODEL_EXPECT(&test, "a##b", {0, {0, 4}});
    TEST_MODEL_EXPECT(&test, "aa##b", {1, {0, 1}}, {5, {1, 5}});
    TEST_MODEL_EXPECT(&test, "x", {0, {0, 1}});
    TEST_MODEL_EXPECT(&test, "abx", {0, {0, 3}});
    TEST_MODEL_EXPECT(&test, "a\u00e9", {1, {0, 1}}, {7, {1, 3}});
    test_model_deinit(&test);
}

static void test_length_is_in_characters(void **state) {
    struct test_model test;

    (void)state;
    load(&test, "{\"vocab\": {\"[UNK]\": 0, \"\u00e9\": 6, \"##\u00e9\": 7}" REST, false);
    TEST_MODEL_EXPECT(&test, "\u00e9\u00e9\u00e9\u00e9\u00e9", {6, {0, 2}}, {7, {2, 4}},
                      {7, {4, 6}}, {7, {6, 8}}, {7, {8, 10}});
    TEST_MODEL_EXPECT(&test, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", {0, {0, 12}});
    test_model_deinit(&test);
}

static void test_empty_prefix(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"vocab\": {\"a\": 1, \"##b\": 7, \"b\": 3}, \"unk_token\": \"b\", "
         "\"continuing_subword_prefix\": \"\", \"max_input_chars_per_word\": 100}",
         false);
    TEST_MODEL_EXPECT(&test, "ab", {1, {0, 1}}, {3, {1, 2}});
    TEST_MODEL_EXPECT(&test, "a##b", {1, {0, 1}}, {7, {1, 4}});
    TEST_MODEL_EXPECT(&test, "c", {3, {0, 1}});
    test_model_deinit(&test);
}

static void test_unknown_token_is_asked_when_needed(void **state) {
    struct leat_token tokens[8];
    struct test_model test;

    (void)state;
    load(&test, "{\"vocab\": {\"a\": 1}" REST, false);
    TEST_MODEL_EXPECT(&test, "a", {1, {0, 1}});
    assert_int_equal(test_model_encode(&test, "b", 1, tokens), -EINVAL);
    test_model_deinit(&test);
    load(&test, "{\"vocab\": {}" REST, false);
    assert_int_equal(test_model_encode(&test, "a", 1, tokens), -EINVAL);
    test_model_deinit(&test);
}

/* In GPT-2's alphabet: U+0120 is a blank, U+00C3 and U+00A9 the bytes of an e with an accent. */
static void test_raw_bytes(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"vocab\": {\"[UNK]\": 0, \"\u0120a\": 1, \"##\u00c3\u00a9\": 2, \"##\u00c3\": 3, "
         "\"\u2581\": 4, \"##\u2581\": 5}" REST,
         true);
    TEST_MODEL_EXPECT(&test, " a\u00e9", {1, {0, 2}}, {2, {2, 4}});
    TEST_MODEL_EXPECT(&test, " a\xc3", {1, {0, 2}}, {3, {2, 3}});
    TEST_MODEL_EXPECT(&test, " a\xc3\xc3\xc3", {1, {0, 2}}, {3, {2, 3}}, {3, {3, 4}}, {3, {4, 5}});
    TEST_MODEL_EXPECT(&test, " a\xc3\xc3\xc3\xc3", {0, {0, 6}});
    TEST_MODEL_EXPECT(&test, "\u2581", {0, {0, 3}});
    test_model_deinit(&test);
}

static void test_refusals(void **state) {
    (void)state;
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": []" REST, "model.vocab", "an array");
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": {\"foo\": -1}" REST,
                       "model.vocab.\"foo\"", "-1");
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": {\"a\": 1, \"f\\\"o\": 1.5}" REST,
                       "model.vocab.\"f\\\"o\"", "integer");
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": {\"foo\": 18446744073709551615}" REST,
                       "model.vocab.\"foo\"", "18446744073709551615");
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": {\"foo\": 16777216}" REST,
                       "model.vocab.\"foo\"", "16777215");
    test_model_refuses(&leat_model_wordpiece,
                       "{\"vocab\": {}, \"unk_token\": \"u\", \"continuing_subword_prefix\": "
                       "\"##\", \"max_input_chars_per_word\": -1}",
                       "model.max_input_chars_per_word", "-1");
    test_model_refuses(&leat_model_wordpiece, "{\"vocab\": {}, \"unk_token\": \"u\"}", "model",
                       "continuing_subword_prefix");
    test_model_refuses(&leat_model_wordpiece,
                       "{\"vocab\": {}, \"continuing_subword_prefix\": \"##\"}", "model",
                       "unk_token");
}

/* ---- random vocabularies */

#define N_TOKENS 40

struct vocabulary {
    char tokens[N_TOKENS][16];
    size_t n;
    char json[8192];
};

static void random_word(struct leat_rng *rng, char *ret_word, size_t n_max) {
    static const char *const letters[] = {"a", "b", "\u00e9", "#"};
    size_t n = 1 + leat_rng_below(rng, n_max);

    ret_word[0] = '\0';
    for (size_t i = 0; i < n; i++)
        strcat(ret_word, letters[leat_rng_below(rng, 4) * (leat_rng_below(rng, 3) > 0)]);
}

static void random_vocabulary(struct leat_rng *rng, struct vocabulary *vocabulary) {
    int at = sprintf(vocabulary->json, "{\"vocab\": {\"[UNK]\": 99");

    vocabulary->n = 1 + leat_rng_below(rng, N_TOKENS - 1);
    for (size_t i = 0; i < vocabulary->n; i++) {
        char word[16];

        random_word(rng, word, 4);
        sprintf(vocabulary->tokens[i], "%s%s", leat_rng_below(rng, 2) ? "##" : "", word);
        at += sprintf(vocabulary->json + at, ", \"%s\": %zu", vocabulary->tokens[i], i);
    }
    sprintf(vocabulary->json + at,
            "}, \"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "
            "\"max_input_chars_per_word\": %u}",
            (unsigned)leat_rng_below(rng, 40));
}

/* The last one counts. */
static int find(const struct vocabulary *vocabulary, const char *prefix, const char *word,
                size_t n) {
    size_t n_prefix = strlen(prefix);

    for (size_t i = vocabulary->n; i-- > 0;) {
        const char *token = vocabulary->tokens[i];

        if (strlen(token) == n_prefix + n && memcmp(token, prefix, n_prefix) == 0 &&
            memcmp(token + n_prefix, word, n) == 0)
            return (int)i;
    }
    return -1;
}

static size_t spell(const struct vocabulary *vocabulary, const char *word,
                    struct leat_token *tokens) {
    size_t n = strlen(word), at = 0, n_tokens = 0;

    while (at < n) {
        size_t end = n;
        int id = -1;

        for (; end > at && id < 0; end--)
            id = find(vocabulary, at ? "##" : "", word + at, end - at);
        if (id < 0) {
            tokens[0] = (struct leat_token){.id = 99, .range = {0, (uint32_t)n}};
            return 1;
        }
        tokens[n_tokens++] =
            (struct leat_token){.id = id, .range = {(uint32_t)at, (uint32_t)end + 1}};
        at = end + 1;
    }
    return n_tokens;
}

static size_t n_chars(const char *word) {
    size_t n = 0;

    for (; *word; word++)
        n += ((uint8_t)*word & 0xc0) != 0x80;
    return n;
}

static void test_random(void **state) {
    struct leat_rng rng = {.state = 3};

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct vocabulary vocabulary;
        struct test_model test;
        size_t max_chars;

        random_vocabulary(&rng, &vocabulary);
        load(&test, vocabulary.json, false);
        max_chars = (size_t)strtoul(strrchr(vocabulary.json, ':') + 1, NULL, 10);
        for (int k = 0; k < 60; k++) {
            struct leat_token expected[TEST_MODEL_TOKENS_MAX];
            char word[TEST_MODEL_TOKENS_MAX];
            size_t n;

            random_word(&rng, word, 30);
            n = spell(&vocabulary, word, expected);
            if (n_chars(word) > max_chars) {
                n = 1;
                expected[0] = (struct leat_token){.id = 99, .range = {0, (uint32_t)strlen(word)}};
            }
            test_model_expect(&test, word, expected, n);
        }
        test_model_deinit(&test);
    }
}

/* Tokens longer than a tail may be, and that are prefixes of each other. */
static void test_long_tokens(void **state) {
    char json[4096], word[1100], run[1001];
    struct leat_token tokens[1100];
    struct test_model test;

    (void)state;
    memset(run, 'x', sizeof(run) - 1);
    run[1000] = '\0';
    (void)snprintf(json, sizeof(json),
                   "{\"vocab\": {\"[UNK]\": 0, \"%s\": 1, \"##%.700s\": 2, \"##y\": 3}, "
                   "\"unk_token\": \"[UNK]\", \"continuing_subword_prefix\": \"##\", "
                   "\"max_input_chars_per_word\": 18446744073709551615}",
                   run, run);
    load(&test, json, false);
    for (size_t n = 999; n <= 1001; n++) {
        memset(word, 'x', n);
        word[n] = 'y';
        assert_int_equal(test_model_encode(&test, word, n + 1, tokens), n == 1000 ? 2 : 1);
        assert_int_equal(tokens[0].id, n == 1000 ? 1 : 0);
    }
    test_model_deinit(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_match),
        cmocka_unit_test(test_length_is_in_characters),
        cmocka_unit_test(test_empty_prefix),
        cmocka_unit_test(test_unknown_token_is_asked_when_needed),
        cmocka_unit_test(test_raw_bytes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_long_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
