/* WordLevel: known words, the unknown token and its absence, raw bytes, refusals. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/pipeline/shared_model.h"

static void load(struct test_model *test, const char *json, bool is_byte_level) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (test_model_init(test, &leat_model_wordlevel, json, is_byte_level, &err) < 0)
        fail_msg("%s: %s", err.path, err.message);
}

static void test_words(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"type\": \"WordLevel\", \"vocab\": {\"a\": 3, \"<unk>\": 7, \"\u00e9t\u00e9\": 5, "
         "\"a\": 4, \"supercalifragilisticexpialidocious-supercalifragilisticexpialidocious\": 9}, "
         "\"unk_token\": \"<unk>\"}",
         false);
    TEST_MODEL_EXPECT(&test, "a", {4, {0, 1}});
    TEST_MODEL_EXPECT(&test, "\u00e9t\u00e9", {5, {0, 5}});
    TEST_MODEL_EXPECT(&test, "ab", {7, {0, 2}});
    TEST_MODEL_EXPECT(&test, "<unk>", {7, {0, 5}});
    assert_int_equal(leat_token_table_find(&test.model->tokens, "a", 1), 4);
    test_model_deinit(&test);
}

static void test_unknown_token_is_asked_when_needed(void **state) {
    struct leat_token tokens[8];
    struct test_model test;

    (void)state;
    load(&test, "{\"vocab\": {\"a\": 1}, \"unk_token\": \"x\"}", false);
    TEST_MODEL_EXPECT(&test, "a", {1, {0, 1}});
    assert_int_equal(test_model_encode(&test, "b", 1, tokens), -EINVAL);
    assert_int_equal(test_model_encode(&test, "a", 1, tokens), 1);
    test_model_deinit(&test);
}

static void test_raw_bytes(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"vocab\": {\"[UNK]\": 0, \"\u0120a\": 1, \"\u00c3\u00a9\": 2, \"\u0143\": 3, "
         "\"\u0142\": 4, \"\u0121\": 5}, \"unk_token\": \"[UNK]\"}",
         true);
    TEST_MODEL_EXPECT(&test, " a", {1, {0, 2}});
    TEST_MODEL_EXPECT(&test, "\u00e9", {2, {0, 2}});
    TEST_MODEL_EXPECT(&test, "\xad", {3, {0, 1}});
    TEST_MODEL_EXPECT(&test, "\xa0", {4, {0, 1}});
    TEST_MODEL_EXPECT(&test, "\x7f", {5, {0, 1}});
    TEST_MODEL_EXPECT(&test, "\u0120a", {0, {0, 3}});
    TEST_MODEL_EXPECT(&test, "aaaaaaaaaaaaaaaaaaaaaaaa", {0, {0, 24}});
    test_model_deinit(&test);
}

static void test_refusals(void **state) {
    (void)state;
    test_model_refuses(&leat_model_wordlevel, "{\"vocab\": {\"a\": 1}}", "model", "unk_token");
    test_model_refuses(&leat_model_wordlevel, "{\"unk_token\": \"a\"}", "model", "vocab");
    test_model_refuses(&leat_model_wordlevel, "{\"vocab\": {\"a\": \"1\"}, \"unk_token\": \"a\"}",
                       "model.vocab.\"a\"", "a string");
    test_model_refuses(&leat_model_wordlevel, "{\"vocab\": {\"a\": 1}, \"unk_token\": 1}",
                       "model.unk_token", "string");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_unknown_token_is_asked_when_needed),
        cmocka_unit_test(test_raw_bytes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
