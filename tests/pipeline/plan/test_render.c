/* test_render.c: growing texts and JSON strings of any bytes, read back by
 * the strict parser. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "proto/base/utf8.h"
#include "tests/pipeline/shared_stream.h"

static struct leat_rng rng = {.state = 11};

static void test_text_grows(void **state) {
    struct leat_text text = {.data = NULL};
    size_t n = 0;

    (void)state;
    leat_text_add_bytes(&text, "", 0);
    for (int i = 0; i < 3000; i++) {
        leat_text_add(&text, "%d,", i);
        leat_text_add_bytes(&text, "\0x", 2);
        n += (size_t)(i < 10 ? 1 : i < 100 ? 2 : i < 1000 ? 3 : 4) + 3;
        assert_int_equal(text.n_bytes, n);
        assert_int_equal(text.data[n], '\0');
        assert_int_equal(text.failed, 0);
    }
    assert_memory_equal(text.data, "0,\0x1,\0x2,\0x", 12);
    free(text.data);
}

static void check_string(const char *bytes, size_t n, const char *expected) {
    struct leat_text text = {.data = NULL};

    leat_text_add_json(&text, bytes, n);
    assert_string_equal(text.data, expected);
    free(text.data);
}

static void test_json_strings(void **state) {
    (void)state;
    check_string("", 0, "\"\"");
    check_string("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check_string("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    check_string("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    check_string("\xc2\x80\xc2\x9b\xc2\xa0", 6, "\"\\u0080\\u009b\xc2\xa0\"");
    check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
                 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check_string("\xff"
                 "a\xc3",
                 3, "\"\\ufffda\\ufffd\"");
    check_string("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");            /* overlong */
    check_string("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    check_string("\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void test_random_bytes_are_json(void **state) {
    struct leat_json *json;

    (void)state;
    assert_int_equal(leat_json_new(4096, &json), 0);
    for (int i = 0; i < 20000; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_text text = {.data = NULL};
        struct leat_json_node root;
        uint8_t bytes[64];
        size_t n = (size_t)leat_rng_below(&rng, sizeof(bytes)), n_back;
        const char *back;

        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)(leat_rng_next(&rng) >> (i % 2 ? 56 : 57));
        leat_text_add_json(&text, bytes, n);
        assert_int_equal(leat_json_parse(json, text.data, text.n_bytes, text.n_bytes, &root, &err),
                         0);
        back = leat_json_string(root, &n_back);
        if (leat_utf8_is_valid(bytes, n)) {
            assert_int_equal(n_back, n);
            assert_memory_equal(back, bytes, n);
        }
        free(text.data);
    }
    leat_json_free(json);
}

static void test_rows(void **state) {
    (void)state;
    check_rows("{\"q\\\"\\n\": \"v\\u0000\", \"f\": [0.5], \"e\": []}\n", "- take: {count: 1}",
               "{\"q\\\"\\n\": \"v\\u0000\", \"f\": [0.5], \"e\": []}\n");
    check_rows("a\n1e999\n", "- cast: {input: a, dtype: float32}", "{\"a\": null}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_random_bytes_are_json),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
