/* test_normalizer.c: pipeline/tokenizer/normalize/normalizer.c: what Hugging Face `tokenizers`
 * gives (data/normalizer.jsonl, from data/make_normalizer.py), pieces within a document, long
 * texts, what is not copied, and components that are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/normalize/normalizer.h"

#define TEXT_MAX 4096

struct fixture {
    struct leat_json *json;
    struct leat_normalizer *normalizer;
    struct leat_normalizer_context *context;
};

static int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    *state = fixture;
    return fixture ? leat_json_new(0, &fixture->json) : -1;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;

    leat_json_free(fixture->json);
    free(fixture);
    return 0;
}

static struct leat_json_node parse(struct fixture *fixture, const char *text, size_t n) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node node;

    assert_int_equal(leat_json_parse(fixture->json, text, n, n, &node, &err), 0);
    return node;
}

static void load(struct fixture *fixture, const struct leat_component *component) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_normalizer_new(component, &fixture->normalizer, &err) < 0)
        fail_msg("%s: %s", err.path, err.message);
    fixture->context = leat_normalizer_context_new();
    assert_non_null(fixture->context);
}

static void load_text(struct fixture *fixture, const char *json) {
    struct leat_component root = leat_component_root(NULL, parse(fixture, json, strlen(json)));

    load(fixture, &root);
}

static void unload(struct fixture *fixture) {
    fixture->context = leat_normalizer_context_free(fixture->context);
    fixture->normalizer = leat_normalizer_free(fixture->normalizer);
}

static struct leat_text_view run(struct fixture *fixture, const struct leat_text_view *source) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text_view text;

    if (leat_normalizer_run(fixture->normalizer, fixture->context, source, &text, &err) < 0)
        fail_msg("%s", err.message);
    return text;
}

static bool starts_char(const struct leat_text_view *text, uint32_t i) {
    return i == text->n_bytes || (text->bytes[i] & 0xc0) != 0x80;
}

/* Bytes with the origins that a document has in which they begin at `shift`. */
static struct leat_text_view make_text(const char *bytes, size_t n, uint32_t shift, uint8_t *copy,
                                       struct leat_range *origins) {
    struct leat_text_view text = {.bytes = copy, .origins = origins, .n_bytes = (uint32_t)n};

    assert_true(n <= TEXT_MAX);
    memset(copy, 0xe3, n + LEAT_TEXT_PADDING);
    memcpy(copy, bytes, n);
    for (uint32_t start = 0, end; start < n; start = end) {
        for (end = start + 1; !starts_char(&text, end); end++)
            ;
        for (uint32_t i = start; i < end; i++)
            origins[i] = (struct leat_range){shift + start, shift + end};
    }
    return text;
}

static void check_bytes(const struct leat_text_view *text, const char *expected, size_t n) {
    if (text->n_bytes != n || memcmp(text->bytes, expected, n) != 0)
        fail_msg("\"%.*s\", but \"%.*s\" is right", (int)text->n_bytes, (const char *)text->bytes,
                 (int)n, expected);
}

/* What was 0 before is the start of the document now. */
static void check_origins(const struct leat_text_view *text, struct leat_json_node expected,
                          uint32_t shift) {
    struct leat_json_iterator iterator;
    struct leat_json_node start, end;

    leat_json_iterate(expected, &iterator);
    for (uint32_t i = 0; i < text->n_bytes; i++) {
        if (starts_char(text, i)) {
            assert_true(leat_json_next(&iterator, &start));
            assert_true(leat_json_next(&iterator, &end));
        }
        assert_int_equal(text->origins[i].start, shift + leat_json_int(start));
        assert_int_equal(text->origins[i].end, shift + leat_json_int(end));
    }
    assert_false(leat_json_next(&iterator, &start));
}

static void check_case(struct fixture *fixture, struct leat_json_node node) {
    struct leat_json_node text, expected, origins;
    struct leat_json_iterator iterator;
    uint8_t copy[TEXT_MAX + LEAT_TEXT_PADDING];
    struct leat_range ranges[TEXT_MAX];
    size_t n_text, n_expected;
    const char *to, *from;

    leat_json_iterate(node, &iterator);
    assert_true(leat_json_next(&iterator, &text));
    assert_true(leat_json_next(&iterator, &expected));
    assert_true(leat_json_next(&iterator, &origins));
    from = leat_json_string(text, &n_text);
    to = leat_json_string(expected, &n_expected);
    for (uint32_t shift = 0; shift <= 1000; shift += 500) {
        struct leat_text_view source = make_text(from, n_text, shift, copy, ranges), result;

        result = run(fixture, &source);
        check_bytes(&result, to, n_expected);
        if (n_text > 0)
            check_origins(&result, origins, shift);
        source.origins = NULL;
        result = run(fixture, &source);
        check_bytes(&result, to, n_expected);
    }
}

static void check_line(struct fixture *fixture, struct leat_json_node root) {
    struct leat_json_node normalizer, cases, item;
    struct leat_json_iterator iterator;
    struct leat_component component;

    assert_true(leat_json_find(root, "normalizer", 10, &normalizer));
    assert_true(leat_json_find(root, "cases", 5, &cases));
    component = leat_component_root(NULL, normalizer);
    load(fixture, &component);
    leat_json_iterate(cases, &iterator);
    while (leat_json_next(&iterator, &item))
        check_case(fixture, item);
    unload(fixture);
}

static void test_oracle(void **state) {
    FILE *file = fopen("pipeline/data/normalizer.jsonl", "re");
    size_t size = 0, n_lines = 0;
    char *line = NULL;
    ssize_t n;

    assert_non_null(file);
    while ((n = getline(&line, &size, file)) > 0) {
        check_line(*state, parse(*state, line, (size_t)n));
        n_lines++;
    }
    assert_true(n_lines >= 30);
    free(line);
    fclose(file);
}

/* Every length of text around the blocks, and every place in it for what changes. */
static void test_blocks(void **state) {
    static const struct {
        const char *json, *from, *to;
    } rows[] = {
        {"{\"type\":\"NFC\"}", "e\xcc\x81", "\xc3\xa9"},
        {"{\"type\":\"NFKC\"}", "\xef\xac\x81", "fi"},
        {"{\"type\":\"Lowercase\"}", "Q", "q"},
        {"{\"type\":\"Nmt\"}", "\n", " "},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}", " ",
         "\xe2\x96\x81"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\"_\"}",
         " \t\xc2\xa0", "_"},
        {"{\"type\":\"ByteLevel\"}", " ", "\xc4\xa0"},
        {"{\"clean_text\":true,\"handle_chinese_chars\":true,\"lowercase\":true}",
         "\xc3\x89\xe4\xb8\xad", "e \xe4\xb8\xad "},
    };
    uint8_t copy[TEXT_MAX + LEAT_TEXT_PADDING];
    struct leat_range ranges[TEXT_MAX];

    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        load_text(*state, rows[row].json);
        for (int n = 0; n < 80; n++)
            for (int at = 0; at <= n; at++) {
                char from[256], to[256];
                struct leat_text_view source, result;

                snprintf(
                    from, sizeof(from), "%.*s%s%.*s", at,
                    "abcdefghijklmnopqrstuvwxyz0123456789.,abcdefghijklmnopqrstuvwxyz0123456789.,"
                    "abcdefghijk",
                    rows[row].from, n - at,
                    "zyxwvutsrqponmlkjihgfedcbazyxwvutsrqponmlkjihgfed"
                    "cba9876543210987654321098765432109876");
                snprintf(to, sizeof(to), "%.*s%s%s", at, from, rows[row].to,
                         from + at + strlen(rows[row].from));
                source = make_text(from, strlen(from), 0, copy, ranges);
                source.origins = NULL;
                result = run(*state, &source);
                check_bytes(&result, to, strlen(to));
            }
        unload(*state);
    }
}

static void check_not_copied(struct fixture *fixture, const char *json, const char *text) {
    uint8_t copy[TEXT_MAX + LEAT_TEXT_PADDING];
    struct leat_range ranges[TEXT_MAX];
    struct leat_text_view source = make_text(text, strlen(text), 0, copy, ranges), result;

    source.origins = NULL;
    load_text(fixture, json);
    result = run(fixture, &source);
    assert_ptr_equal(result.bytes, copy);
    assert_int_equal(result.n_bytes, source.n_bytes);
    unload(fixture);
}

static void test_not_copied(void **state) {
    static const char *const text = "caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87, twenty-odd plain bytes";

    check_not_copied(*state, "{\"type\":\"NFC\"}", text);
    check_not_copied(*state, "{\"type\":\"NFKD\"}", "plain\ntext");
    check_not_copied(*state, "{\"type\":\"Lowercase\"}", text);
    check_not_copied(*state, "{\"type\":\"StripAccents\"}", text);
    check_not_copied(*state, "{\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"NFC\"}]}", text);
    check_not_copied(
        *state, "{\"type\":\"Replace\",\"pattern\":{\"String\":\"xyz\"},\"content\":\"\"}", text);
}

/* Marks without end, which all have to be put in order. */
static void test_many_marks(void **state) {
    enum { N = 400000 };
    uint8_t *bytes = malloc(2 * N + LEAT_TEXT_PADDING);
    struct leat_text_view source = {.bytes = bytes, .n_bytes = 2 * N}, result;

    assert_non_null(bytes);
    for (size_t i = 0; i < N; i++)
        memcpy(bytes + 2 * i, i % 2 ? "\xcc\x87" : "\xcc\xa3", 2); /* above, below */
    memset(bytes + 2 * N, 0, LEAT_TEXT_PADDING);
    load_text(*state, "{\"type\":\"NFD\"}");
    result = run(*state, &source);
    assert_int_equal(result.n_bytes, 2 * N);
    for (size_t i = 0; i < N; i++)
        assert_memory_equal(result.bytes + 2 * i, i < N / 2 ? "\xcc\xa3" : "\xcc\x87", 2);
    unload(*state);
    free(bytes);
}

static void check_refused(struct fixture *fixture, const char *json, const char *path,
                          const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_component root = leat_component_root(NULL, parse(fixture, json, strlen(json)));
    struct leat_normalizer *normalizer;

    assert_int_equal(leat_normalizer_new(&root, &normalizer, &err), -EINVAL);
    assert_string_equal(err.path, path);
    if (!strstr(err.message, message))
        fail_msg("\"%s\" says nothing of \"%s\"", err.message, message);
}

static void test_refused(void **state) {
    check_refused(*state, "{\"type\":\"Nope\"}", "", "`Nope`");
    check_refused(*state, "{}", "", "`type` is missing");
    check_refused(*state, "[]", "", "an object");
    check_refused(*state, "{\"type\":\"Strip\",\"strip_left\":true}", "", "`strip_right`");
    check_refused(*state, "{\"type\":\"Strip\",\"strip_left\":1,\"strip_right\":true}",
                  "strip_left", "true or false");
    check_refused(*state,
                  "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":7}]}",
                  "normalizers[1].type", "a string");
    check_refused(*state, "{\"type\":\"Replace\",\"content\":\"\"}", "", "`pattern`");
    check_refused(*state, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}",
                  "pattern.Regex", "");
    check_refused(*state, "{\"type\":\"Replace\",\"pattern\":\"a\",\"content\":\"\"}", "pattern",
                  "an object");
}

static void test_refused_charsmap(void **state) {
    static const char *const rows[][2] = {
        {"", "trie"},       {"AAA", "multiple of 4"}, {"AA*A", "base64"},
        {"AAAA", "trie"},   {"BAAAAA==", "trie"},     {"AwAAAAAAAAA=", "trie"},
        {"=AAA", "base64"}, {"AAA=AAAA", "base64"},   {"BAAAAAAAAAD/", "UTF-8"},
        {"AAB=", "base64"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char json[128];

        snprintf(json, sizeof(json), "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"}",
                 rows[i][0]);
        check_refused(*state, json, "precompiled_charsmap", rows[i][1]);
    }
}

static void test_describe(void **state) {
    struct fixture *fixture = *state;

    load_text(fixture,
              "{\"normalizers\":[{\"prepend\":\"\xe2\x96\x81\"},{\"pattern\":{\"String\":\""
              " \"},\"content\":\"\xe2\x96\x81\"},{\"type\":\"NFC\"}]}");
    assert_string_equal(leat_normalizer_describe(fixture->normalizer),
                        "Prepend \"\xe2\x96\x81\", Replace \" \" with \"\xe2\x96\x81\", NFC");
    unload(fixture);
    load_text(fixture, "{\"normalizers\":[]}");
    assert_string_equal(leat_normalizer_describe(fixture->normalizer), "none");
    unload(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),     cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_not_copied), cmocka_unit_test(test_many_marks),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_refused_charsmap),
        cmocka_unit_test(test_describe),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
