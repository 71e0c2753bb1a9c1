/* test_json.c: pipeline/tokenizer/json.cc and json_locate.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/json_locate.h"
#include "proto/base/rng.h"

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

static int parse(const char *text, size_t n, struct leat_json_node *ret_root,
                 struct leat_error *err) {
    uint8_t *copy = malloc(n ? n : 1); /* of just that size, for the sanitizers */
    int r;

    assert_non_null(copy);
    memcpy(copy, text, n);
    r = leat_json_parse(json, copy, n, n, ret_root, err);
    free(copy);
    return r;
}

static struct leat_json_node good(const char *text) {
    struct leat_json_node root = {0};

    assert_int_equal(parse(text, strlen(text), &root, LEAT_ERROR_IGNORED), 0);
    return root;
}

static struct leat_json_node find(struct leat_json_node object, const char *key) {
    struct leat_json_node value = {0};

    assert_true(leat_json_find(object, key, strlen(key), &value));
    return value;
}

static void kinds_and_values(void **state) {
    struct leat_json_node root = good(
        "{\"n\":null,\"t\":true,\"f\":false,\"i\":-9223372036854775808,\"u\":18446744073709551615,"
        "\"d\":2.5,\"s\":\"a\\u0000\\ud83d\\ude00\",\"a\":[1,[],{}],\"o\":{\"x\":1}}");
    size_t n;

    (void)state;
    assert_int_equal(leat_json_kind(root), LEAT_JSON_OBJECT);
    assert_int_equal(leat_json_n_items(root), 9);
    assert_int_equal(leat_json_kind(find(root, "n")), LEAT_JSON_NULL);
    assert_true(leat_json_bool(find(root, "t")));
    assert_false(leat_json_bool(find(root, "f")));
    assert_int_equal(leat_json_int(find(root, "i")), INT64_MIN);
    assert_int_equal(leat_json_kind(find(root, "u")), LEAT_JSON_UINT);
    assert_true(leat_json_uint(find(root, "u")) == UINT64_MAX);
    assert_int_equal(leat_json_kind(find(root, "d")), LEAT_JSON_DOUBLE);
    assert_true(leat_json_double(find(root, "d")) == 2.5);
    assert_true(leat_json_double(find(root, "u")) == 18446744073709551615.0);
    assert_memory_equal(leat_json_string(find(root, "s"), &n), "a\0\xf0\x9f\x98\x80", 7);
    assert_int_equal(n, 6);
    assert_int_equal(leat_json_n_items(find(root, "a")), 3);
    assert_int_equal(leat_json_n_items(find(root, "d")), 0);
    assert_false(leat_json_find(root, "x", 1, &root));
    assert_false(leat_json_find(find(root, "d"), "x", 1, &root));
}

static void iterates_in_order(void **state) {
    struct leat_json_node root = good("{\"b\":[10,20,[30],40],\"a\":{},\"b\":7}"), value, item;
    static const char *const keys[] = {"b", "a", "b"};
    static const int64_t items[] = {10, 20, 0, 40};
    struct leat_json_iterator members, array;
    const char *key;
    size_t n_key, i = 0, k = 0;

    (void)state;
    leat_json_iterate(root, &members);
    while (leat_json_next_member(&members, &key, &n_key, &value)) {
        assert_int_equal(n_key, 1);
        assert_memory_equal(key, keys[i], 1);
        leat_json_iterate(value, &array);
        while (leat_json_next(&array, &item)) {
            if (k != 2)
                assert_int_equal(leat_json_int(item), items[k]);
            k++;
        }
        i++;
    }
    assert_int_equal(i, 3);
    assert_int_equal(k, 4);
    assert_int_equal(leat_json_int(find(root, "b")), 7); /* the last of equal keys */
    leat_json_iterate(root, &members);
    assert_false(leat_json_next(&members, &item));
}

static void counts_beyond_what_a_tape_counts(void **state) {
    size_t n_items = 17000000, n = 2 * n_items + 1;
    char *text = malloc(n);
    struct leat_json_node root;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n_items; i++)
        memcpy(text + 2 * i + 1, "1,", 2);
    text[0] = '[';
    text[n - 1] = ']';
    assert_int_equal(leat_json_parse(json, text, n, n, &root, LEAT_ERROR_IGNORED), 0);
    assert_int_equal(leat_json_n_items(root), n_items);
    free(text);
}

static void faults_have_a_place(void **state) {
    static const struct {
        const char *text, *message;
        uint32_t line, column;
    } cases[] = {
        {"", "expected a value, but the text ends here", 1, 1},
        {"{\"a\":1,}", "expected a key in double quotes, found '}'", 1, 8},
        {"{\"a\" 1}", "expected a ':' after the key, found '1'", 1, 6},
        {"{\n\"a\":1\n\"b\":2}", "expected a ',' or '}' after a member, found '\"'", 3, 1},
        {"[1 2]", "expected a ',' or ']' after an item, found '2'", 1, 4},
        {"[1,2", "expected a ',' or ']' after an item, but the text ends here", 1, 5},
        {"{\"a\":NaN}", "expected a value, found 'N'", 1, 6},
        {"null x", "expected the end of the document, found 'x'", 1, 6},
        {"\"abc", "the string is never closed", 1, 1},
        {"\"a\tb\"", "a control character in a string must be escaped", 1, 3},
        {"\"\\ud800\"", "an unpaired surrogate (\\ud800 to \\udfff)", 1, 2},
        {"\"\\x\"", "an unknown escape in a string", 1, 2},
        {"\"\\u12g4\"", "expected four hexadecimal digits after \\u, found '\\'", 1, 2},
        {"[\"a\",\"\xff\"]", "the text is not valid UTF-8", 1, 7},
        {"18446744073709551616", "the number is too large", 1, 1},
        {"1e999", "the number is too large", 1, 1},
        {"-", "expected a digit, but the text ends here", 1, 2},
        {"1.", "expected a digit after the decimal point, but the text ends here", 1, 3},
        {"'a'", "expected a value, found '''", 1, 1},
        {"\xef\xbb\xbf{}", "expected a value, found byte 0xef", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_json_node root;
        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &root, &err), -EINVAL);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
    }
}

static void depth_has_a_limit(void **state) {
    char text[2 * LEAT_JSON_DEPTH_MAX + 4];

    (void)state;
    for (size_t depth = LEAT_JSON_DEPTH_MAX - 2; depth < LEAT_JSON_DEPTH_MAX + 2; depth++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_json_node root;
        struct leat_json_fault fault;
        int r;
        memset(text, '[', depth);
        text[depth] = '1';
        memset(text + depth + 1, ']', depth);
        r = parse(text, 2 * depth + 1, &root, &err);
        assert_int_equal(r, depth < LEAT_JSON_DEPTH_MAX ? 0 : -EINVAL);
        assert_int_equal(leat_json_locate((uint8_t *)text, 2 * depth + 1, &fault), r < 0);
        if (r < 0)
            assert_string_equal(err.message, "objects and arrays nest too deep");
    }
}

/* What is read beyond the document changes nothing. */
static void padding_is_not_looked_at(void **state) {
    static const char *const texts[] = {"[1,2", "12", "{\"a\":tru", "\"abc", "[1]"};
    char padded[64 + 2 * LEAT_JSON_PADDING];

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (int fill = 0; fill < 128; fill++) {
            struct leat_json_node root;
            size_t n = strlen(texts[i]);
            int r = parse(texts[i], n, &root, LEAT_ERROR_IGNORED);
            memset(padded, fill, sizeof(padded));
            memcpy(padded, texts[i], n);
            assert_int_equal(
                leat_json_parse(json, padded, n, n + LEAT_JSON_PADDING, &root, LEAT_ERROR_IGNORED),
                r);
            if (i == 1)
                assert_int_equal(leat_json_int(root), 12);
        }
}

/* The parser and the search for faults agree on what JSON is. */
static void locate_agrees_with_the_parser(void **state) {
    static const char *const seeds[] = {
        "{\"a\":[1,-2.5e+3,0,true],\"b\\n\":{\"c\":null,\"d\":\"\\u00e9\\ud83d\\ude00\"}}",
        "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\",{},[],\"\",false , 1E5]",
        "  18446744073709551615 "};
    static const char alphabet[] = "{}[]\",:\\u0189-+.eE truefalsnl\n\xc3\xed\xa0\xff\x80\xf4\x01";
    struct leat_rng rng = {.state = 5};
    uint32_t n_good = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[128];
        const char *seed = seeds[leat_rng_below(&rng, 3)];
        size_t n = strlen(seed);
        struct leat_json_fault fault;
        struct leat_json_node root;
        int r;
        memcpy(text, seed, n);
        for (uint64_t k = leat_rng_below(&rng, 3); k > 0; k--)
            text[leat_rng_below(&rng, n)] = alphabet[leat_rng_below(&rng, sizeof(alphabet) - 1)];
        if (leat_rng_below(&rng, 8) == 0)
            n = leat_rng_below(&rng, n);
        r = leat_json_parse(json, text, n, n, &root, LEAT_ERROR_IGNORED);
        n_good += r == 0;
        if (leat_json_locate((uint8_t *)text, n, &fault) != (r < 0))
            fail_msg("parse says %d of %.*s", r, (int)n, text);
    }
    assert_in_range(n_good, 1000, 199000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_values),
        cmocka_unit_test(iterates_in_order),
        cmocka_unit_test(counts_beyond_what_a_tape_counts),
        cmocka_unit_test(faults_have_a_place),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(padding_is_not_looked_at),
        cmocka_unit_test(locate_agrees_with_the_parser),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
