/* shared_model.c: see shared_model.h. */
#include "shared_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int test_model_init(struct test_model *test, const struct leat_model_ops *ops,
                    const char *model_json, bool is_byte_level, struct leat_error *err) {
    struct leat_component root, component;
    struct leat_json_node node;
    size_t n;
    int r;

    *test = (struct test_model){.model = NULL};
    n = strlen(model_json) + 12;
    test->text = calloc(1, n + LEAT_JSON_PADDING);
    assert_non_null(test->text);
    (void)snprintf(test->text, n + 1, "{\"model\": %s }", model_json);
    n = strlen(test->text);
    test->document = (struct leat_document){.data = test->text, .n_bytes = n, .file = "t.json"};
    assert_int_equal(leat_json_new(n, &test->json), 0);
    if (leat_json_parse(test->json, test->text, n, n + LEAT_JSON_PADDING, &node, err) < 0)
        fail_msg("%s", err->message);
    root = leat_component_root(&test->document, node);
    assert_true(leat_component_get(&root, "model", &component));
    r = leat_model_new(ops, &component, is_byte_level, &test->model, err);
    if (r == 0)
        assert_int_equal(leat_model_context_new(test->model, &test->context), 0);
    return r;
}

void test_model_deinit(struct test_model *test) {
    leat_model_context_free(test->context);
    leat_model_free(test->model);
    leat_json_free(test->json);
    free(test->text);
}

void test_model_refuses(const struct leat_model_ops *ops, const char *model_json, const char *path,
                        const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct test_model test;

    assert_true(test_model_init(&test, ops, model_json, false, &err) < 0);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, message))
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    test_model_deinit(&test);
}

static void check_ids(struct test_model *test, const struct leat_text_view *text,
                      struct leat_range word, const struct leat_token *tokens, size_t n_tokens,
                      int code) {
    size_t n_bytes = word.end - word.start, n;
    int32_t *ids = calloc(n_bytes + LEAT_MODEL_IDS_SLACK, sizeof(*ids));

    assert_non_null(ids);
    for (int i = 0; i < 2; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        int r = leat_model_encode(test->context, text, &word, 1, ids, &n, &err);

        assert_int_equal(r, code);
        if (r < 0)
            continue;
        assert_int_equal(n, n_tokens);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(ids[k], tokens[k].id);
    }
    free(ids);
}

int test_model_encode(struct test_model *test, const void *word, size_t n_bytes,
                      struct leat_token *tokens) {
    static const char around[] = "<other text>";
    size_t n_around = sizeof(around) - 1, n_tokens = 0, n = n_bytes + 2 * n_around;
    uint8_t *bytes = calloc(1, n + LEAT_TEXT_PADDING);
    struct leat_text_view text = {.bytes = bytes, .n_bytes = (uint32_t)n};
    struct leat_range range = {(uint32_t)n_around, (uint32_t)(n_around + n_bytes)};
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    assert_non_null(bytes);
    memcpy(bytes, around, n_around);
    memcpy(bytes + n_around, word, n_bytes);
    memcpy(bytes + n_around + n_bytes, around, n_around);
    r = leat_model_encode_tokens(test->context, &text, range, tokens, &n_tokens, &err);
    check_ids(test, &text, range, tokens, n_tokens, r);
    free(bytes);
    assert_true(n_tokens <= n_bytes);
    for (size_t i = 0; r == 0 && i < n_tokens; i++) {
        tokens[i].range.start -= (uint32_t)n_around;
        tokens[i].range.end -= (uint32_t)n_around;
    }
    return r < 0 ? r : (int)n_tokens;
}

void test_model_expect(struct test_model *test, const char *word, const struct leat_token *expected,
                       size_t n_expected) {
    struct leat_token tokens[TEST_MODEL_TOKENS_MAX];
    int n;

    assert_true(strlen(word) <= TEST_MODEL_TOKENS_MAX);
    n = test_model_encode(test, word, strlen(word), tokens);
    if (n != (int)n_expected || memcmp(tokens, expected, n_expected * sizeof(*tokens)) != 0)
        fail_msg("%s: other tokens than expected", word);
}
