/* test_decoder.c: pipeline/tokenizer/decode/: what Hugging Face `tokenizers` gives
 * (data/decoder.jsonl, from data/make_decoder.py), and files that are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/decode/decoder.h"

#define TOKENS_MAX 64

static struct leat_json *json;

static int set_up(void **state) {
    (void)state;
    return leat_json_new(0, &json);
}

static int tear_down(void **state) {
    (void)state;
    json = leat_json_free(json);
    return 0;
}

static size_t read_tokens(const struct leat_component *root, struct leat_decoder_token *tokens) {
    struct leat_json_iterator iterator;
    struct leat_component array;
    struct leat_json_node item;
    size_t n = 0, n_bytes;

    assert_true(leat_component_get(root, "tokens", &array));
    leat_json_iterate(array.node, &iterator);
    while (leat_json_next(&iterator, &item)) {
        assert_true(n < TOKENS_MAX);
        tokens[n].bytes = (const uint8_t *)leat_json_string(item, &n_bytes);
        tokens[n++].n_bytes = (uint32_t)n_bytes;
    }
    return n;
}

static void check_case(const struct leat_component *root, const char *line) {
    struct leat_decoder_token tokens[TOKENS_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text_buffer text = {0};
    struct leat_component component;
    struct leat_decoder *decoder;
    const char *expected;
    size_t n_expected, n = read_tokens(root, tokens);
    bool has_decoder = leat_component_get(root, "decoder", &component);

    assert_int_equal(leat_decoder_new(has_decoder ? &component : NULL, &decoder, &err), 0);
    assert_int_equal(leat_decoder_run(decoder, tokens, n, &text, &err), 0);
    assert_int_equal(leat_component_string(root, "text", NULL, &expected, &n_expected, &err), 0);
    if (text.n_bytes != n_expected || (n_expected && memcmp(text.bytes, expected, n_expected) != 0))
        fail_msg("%sgave \"%.*s\"", line, (int)text.n_bytes, (char *)text.bytes);
    leat_text_buffer_deinit(&text);
    leat_decoder_free(decoder);
}

static void as_the_wheel(void **state) {
    struct leat_json_node root;
    size_t size = 0, n_lines = 0;
    char *line = NULL;
    ssize_t n;
    FILE *file = fopen("pipeline/data/decoder.jsonl", "re");

    (void)state;
    assert_non_null(file);
    for (; (n = getline(&line, &size, file)) > 0; n_lines++) {
        struct leat_component component;
        assert_int_equal(
            leat_json_parse(json, line, (size_t)n, (size_t)n, &root, LEAT_ERROR_IGNORED), 0);
        component = leat_component_root(NULL, root);
        check_case(&component, line);
    }
    assert_true(n_lines >= 100);
    free(line);
    (void)fclose(file);
}

static void wrong_files(void **state) {
    static const char *const cases[][2] = {
        {"{\"type\":\"Nope\"}", "is \"Nope\", but must be one of"},
        {"{\"type\":1}", "type: is an integer, but must be a string"},
        {"{\"type\":\"ByteLevel\"}", "`add_prefix_space` is missing"},
        {"{\"type\":\"WordPiece\",\"prefix\":\"##\"}", "`cleanup` is missing"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"\"}", "must be a single character"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"ab\"}",
         "replacement: is \"ab\", but must be a single"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"a\",\"add_prefix_space\":false}",
         "must be \"never\""},
        {"{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1,\"stop\":0}",
         "start: is -1, which is outside"},
        {"{\"type\":\"Replace\",\"pattern\":\"a\",\"content\":\"\"}",
         "pattern: is a string, but must be an object"},
        {"{\"type\":\"Replace\",\"pattern\":{},\"content\":\"\"}", "pattern: must be {\"String\""},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[\"},\"content\":\"\"}",
         "pattern.Regex: "},
        {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{}]}",
         "decoders[1]: `type` is missing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        char printed[LEAT_ERROR_PRINT_MAX];
        struct leat_decoder *decoder;
        struct leat_component root;
        struct leat_json_node node;
        size_t n = strlen(cases[i][0]);
        assert_int_equal(leat_json_parse(json, cases[i][0], n, n, &node, LEAT_ERROR_IGNORED), 0);
        root = leat_component_root(NULL, node);
        assert_true(leat_decoder_new(&root, &decoder, &err) < 0);
        (void)leat_error_print(&err, printed, sizeof(printed));
        if (!strstr(printed, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], printed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_the_wheel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_files, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
