/* test_utf8.c: proto/base/utf8.h: every code point, every sequence of two bytes, cut characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/utf8.h"

static uint32_t encode(uint32_t code, uint8_t bytes[4]) {
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    uint32_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (uint32_t i = n; i-- > 1; code >>= 6)
        bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
    bytes[0] = (uint8_t)(leads[n] | code);
    return n;
}

static void test_every_code_point(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x120000; code++) {
        uint8_t text[16] = "abcdefghijk";
        uint32_t n = encode(code, text + 9);
        int is_valid = code < 0x110000 && (code < 0xd800 || code > 0xdfff);

        assert_int_equal(leat_utf8_character(text + 9, n), is_valid ? n : 0);
        assert_int_equal(leat_utf8_length(text + 9, n), is_valid ? n : 1);
        assert_int_equal(leat_utf8_code_point(text + 9, n), is_valid ? code : 0xfffd);
        assert_int_equal(leat_utf8_is_valid(text, 9 + n), is_valid);
        assert_int_equal(leat_utf8_span(text, 9 + n), is_valid ? 9 + n : 9);
        for (uint32_t n_cut = 1; n_cut < n && is_valid; n_cut++) {
            assert_int_equal(leat_utf8_span(text, 9 + n_cut), 9);
            assert_int_equal(leat_utf8_broken(text + 9, n_cut), n_cut);
        }
    }
}

static void test_two_bytes(void **state) {
    (void)state;
    for (uint32_t pair = 0; pair < 0x10000; pair++) {
        uint8_t text[] = {(uint8_t)(pair >> 8), (uint8_t)pair};
        int is_ascii = pair < 0x8000 && (pair & 0x80) == 0;
        int is_character = text[0] >= 0xc2 && text[0] < 0xe0 && (text[1] & 0xc0) == 0x80;

        assert_int_equal(leat_utf8_is_valid(text, 2), is_ascii || is_character);
    }
    assert_true(leat_utf8_is_valid("", 0));
}

static void test_what_one_replacement_stands_for(void **state) {
    static const struct {
        const char *bytes;
        size_t n_broken;
    } cases[] = {
        {"\x80\x80", 1},
        {"\xc0\x80", 1},
        {"\xe0\x80\x80", 1},
        {"\xe2\x82"
         "a",
         2},
        {"\xed\xa0\x80", 1},
        {"\xf0\x9f\x98"
         "a",
         3},
        {"\xf4\x90\x80\x80", 1},
        {"\xff", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(leat_utf8_broken((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes)),
                         cases[i].n_broken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_two_bytes),
        cmocka_unit_test(test_what_one_replacement_stands_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
