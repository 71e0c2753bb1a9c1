/* test_splitter.c: pipeline/tokenizer/split/: words and where they are from are those of Hugging
 * Face `tokenizers` (data/splitter.jsonl, from data/make_splitter.py), with and without origins and
 * in any portions; files that are wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/split/splitter.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "tests/proto/shared_simd.h"

#define WORDS_MAX 4096

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

struct splitter {
    struct leat_splitter *plan;
    struct leat_splitter_context *context;
};

struct text { /* padded, of a size that shows a byte read too far */
    struct leat_text_view view;
    uint8_t *bytes;
    struct leat_range *origins;
};

static struct text make_text(const char *bytes, size_t n_bytes, bool has_origins) {
    struct text text = {.bytes = calloc(1, n_bytes + LEAT_TEXT_PADDING),
                        .origins = calloc(n_bytes + 1, sizeof(struct leat_range))};
    uint32_t n;

    assert_non_null(text.bytes);
    assert_non_null(text.origins);
    memcpy(text.bytes, bytes, n_bytes);
    for (uint32_t at = 0; at < n_bytes; at += n) {
        (void)leat_unicode_decode(text.bytes + at, &n);
        for (uint32_t i = at; i < at + n; i++)
            text.origins[i] = (struct leat_range){at, at + n};
    }
    text.view = (struct leat_text_view){.bytes = text.bytes,
                                        .origins = has_origins ? text.origins : NULL,
                                        .n_bytes = (uint32_t)n_bytes};
    return text;
}

static void free_text(struct text *text) {
    free(text->bytes);
    free(text->origins);
}

static size_t cut(const struct splitter *splitter, const struct leat_text_view *text, size_t n_max,
                  struct leat_range *words) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n = 0, n_more;

    assert_int_equal(leat_splitter_begin(splitter->plan, splitter->context, text, true, &err), 0);
    do {
        assert_true(n + n_max <= WORDS_MAX);
        n_more = leat_splitter_next(splitter->plan, splitter->context, words + n, n_max);
        n += n_more;
    } while (n_more > 0);
    return n;
}

/* A byte as a character of GPT-2's alphabet. */
static uint32_t map_byte(uint8_t byte) {
    uint32_t n_before = 0;

    if ((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174)
        return byte;
    for (uint32_t i = 0; i < byte; i++)
        n_before += !((i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174);
    return 256 + n_before;
}

static bool is_word(const struct splitter *splitter, struct leat_range range,
                    struct leat_json_node expected) {
    const struct leat_text_view *text = leat_splitter_text(splitter->context);
    uint8_t word[8192];
    size_t n_expected;
    const char *bytes = leat_json_string(expected, &n_expected);
    uint32_t n = 0;

    for (uint32_t i = range.start; i < range.end; i++)
        if (leat_splitter_is_byte_level(splitter->plan))
            n += leat_unicode_encode(map_byte(text->bytes[i]), word + n);
        else
            word[n++] = text->bytes[i];
    return n == n_expected && memcmp(word, bytes, n) == 0;
}

static bool is_place(const struct splitter *splitter, struct leat_range range,
                     struct leat_json_node expected) {
    const struct leat_range *origins = leat_splitter_text(splitter->context)->origins;
    struct leat_json_iterator iterator;
    struct leat_json_node start = {0}, end = {0};

    if (!origins)
        return true;
    leat_json_iterate(expected, &iterator);
    assert_true(leat_json_next(&iterator, &start) && leat_json_next(&iterator, &end));
    return origins[range.start].start == leat_json_int(start) &&
           origins[range.end - 1].end == leat_json_int(end);
}

static struct leat_json_node get(struct leat_json_node object, const char *key) {
    struct leat_json_node value = {0};

    assert_true(leat_json_find(object, key, strlen(key), &value));
    return value;
}

static void check_case(const struct splitter *splitter, struct leat_json_node test,
                       bool has_origins, size_t n_max) {
    struct leat_json_node node, word = {0}, place = {0};
    struct leat_json_iterator words, places;
    struct leat_range found[WORDS_MAX];
    size_t n_bytes, n, i = 0;
    const char *bytes = leat_json_string(get(test, "text"), &n_bytes);
    struct text text = make_text(bytes, n_bytes, has_origins);

    n = cut(splitter, &text.view, n_max, found);
    node = get(test, "words");
    leat_json_iterate(node, &words);
    leat_json_iterate(get(test, "offsets"), &places);
    for (; leat_json_next(&words, &word) && leat_json_next(&places, &place); i++)
        if (i >= n || !is_word(splitter, found[i], word) || !is_place(splitter, found[i], place))
            fail_msg("%s: word %zu of \"%s\"", leat_splitter_describe(splitter->plan), i, bytes);
    if (i != n)
        fail_msg("%s: %zu words of \"%s\"", leat_splitter_describe(splitter->plan), n, bytes);
    free_text(&text);
}

static void check_splitter(struct leat_json_node line) {
    struct leat_component component = leat_component_root(NULL, get(line, "pre_tokenizer"));
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_iterator iterator;
    struct splitter splitter;
    struct leat_json_node test;

    if (leat_splitter_new(&component, &splitter.plan, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(leat_splitter_context_new(splitter.plan, &splitter.context), 0);
    assert_true(leat_splitter_n_bytes(splitter.plan) > 0);
    leat_json_iterate(get(line, "cases"), &iterator);
    while (leat_json_next(&iterator, &test)) {
        check_case(&splitter, test, true, 1);
        check_case(&splitter, test, false, 3);
        check_case(&splitter, test, true, 300);
    }
    (void)leat_splitter_context_free(splitter.context);
    (void)leat_splitter_free(splitter.plan);
}

static void as_the_wheel(void **state) {
    FILE *file = fopen("pipeline/data/splitter.jsonl", "re");
    struct leat_json_node root;
    size_t size = 0, n_lines = 0;
    char *line = NULL;
    ssize_t n;

    (void)state;
    assert_non_null(file);
    for (; (n = getline(&line, &size, file)) > 0; n_lines++) {
        assert_int_equal(
            leat_json_parse(json, line, (size_t)n, (size_t)n, &root, LEAT_ERROR_IGNORED), 0);
        check_splitter(root);
    }
    assert_true(n_lines >= 50);
    free(line);
    (void)fclose(file);
}

static void load(const char *text, struct splitter *ret_splitter) {
    struct leat_component root;
    struct leat_json_node node;
    size_t n = strlen(text);

    assert_int_equal(leat_json_parse(json, text, n, n, &node, LEAT_ERROR_IGNORED), 0);
    root = leat_component_root(NULL, node);
    assert_int_equal(leat_splitter_new(&root, &ret_splitter->plan, LEAT_ERROR_IGNORED), 0);
    assert_int_equal(leat_splitter_context_new(ret_splitter->plan, &ret_splitter->context), 0);
}

static void unload(struct splitter *splitter) {
    splitter->context = leat_splitter_context_free(splitter->context);
    splitter->plan = leat_splitter_free(splitter->plan);
}

static void without_one(void **state) {
    struct leat_range words[WORDS_MAX];
    struct splitter splitter;
    struct text text = make_text("a b", 3, false), empty = make_text("", 0, false);

    (void)state;
    assert_int_equal(leat_splitter_new(NULL, &splitter.plan, LEAT_ERROR_IGNORED), 0);
    assert_int_equal(leat_splitter_context_new(splitter.plan, &splitter.context), 0);
    assert_int_equal(cut(&splitter, &text.view, 5, words), 1);
    assert_int_equal(words[0].end, 3);
    assert_int_equal(cut(&splitter, &empty.view, 5, words), 0);
    assert_string_equal(leat_splitter_describe(splitter.plan), "none");
    unload(&splitter);
    free_text(&text);
    free_text(&empty);
}

/* Only the first piece of a document gets a U+2581. */
static void first_of_document(void **state) {
    struct splitter splitter;
    struct text text = make_text("ab", 2, false);

    (void)state;
    load("{\"type\":\"Metaspace\",\"replacement\":\"\u2581\",\"prepend_scheme\":\"first\"}",
         &splitter);
    for (int starts = 0; starts < 2; starts++) {
        assert_int_equal(leat_splitter_begin(splitter.plan, splitter.context, &text.view, starts,
                                             LEAT_ERROR_IGNORED),
                         0);
        assert_int_equal(leat_splitter_text(splitter.context)->n_bytes, starts ? 5 : 2);
    }
    unload(&splitter);
    free_text(&text);
}

static void alphabet(void **state) {
    static const struct {
        const char *json;
        bool is_byte_level;
    } cases[] = {
        {"{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true}", true},
        {"{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\",\"add_prefix_space\":"
         "false,\"trim_offsets\":true},{\"type\":\"Digits\",\"individual_digits\":true}]}",
         true},
        {"{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\",\"add_prefix_space\":"
         "false,\"trim_offsets\":true},{\"type\":\"Punctuation\"}]}",
         false},
        {"{\"type\":\"Whitespace\"}", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct splitter splitter;
        load(cases[i].json, &splitter);
        assert_int_equal(leat_splitter_is_byte_level(splitter.plan), cases[i].is_byte_level);
        unload(&splitter);
    }
}

static void wrong_files(void **state) {
    static const char *const cases[][2] = {
        {"{\"type\":\"Nope\"}", "no pre-tokenizer of the type \"Nope\""},
        {"{}", "type"},
        {"{\"type\":\"ByteLevel\",\"trim_offsets\":true}", "add_prefix_space"},
        {"{\"type\":\"Digits\"}", "individual_digits"},
        {"{\"type\":\"FixedLength\",\"length\":0}", "is 0, but a word"},
        {"{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}", "a single character"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"\"}", "a single character"},
        {"{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
         "must be \"never\""},
        {"{\"type\":\"Split\",\"pattern\":{},\"behavior\":\"Removed\",\"invert\":false}",
         "pattern: needs either a String or a Regex"},
        {"{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"removed\","
         "\"invert\":false}",
         "behavior"},
        {"{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Whitespace\"},{\"type\":\"Split\","
         "\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Removed\",\"invert\":false}]}",
         "pretokenizers[1].pattern: at byte 1 of the regex: a group is not closed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        char printed[LEAT_ERROR_PRINT_MAX];
        struct leat_splitter *splitter;
        struct leat_component root;
        struct leat_json_node node;
        size_t n = strlen(cases[i][0]);

        assert_int_equal(leat_json_parse(json, cases[i][0], n, n, &node, LEAT_ERROR_IGNORED), 0);
        root = leat_component_root(NULL, node);
        assert_int_equal(leat_splitter_new(&root, &splitter, &err), -EINVAL);
        (void)leat_error_print(&err, printed, sizeof(printed));
        if (!strstr(printed, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], printed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(as_the_wheel, set_up, tear_down),
        cmocka_unit_test(without_one),
        cmocka_unit_test_setup_teardown(first_of_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alphabet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_files, set_up, tear_down),
    };

    return shared_simd_run_twice(tests, NULL, NULL);
}
