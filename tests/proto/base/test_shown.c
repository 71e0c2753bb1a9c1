/* test_shown.c: what people see of text that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "proto/base/text.h"

static void test_cases(void **state) {
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"plain \\x1b", "plain \\x1b"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\x1b[2J\n\r\t\x7f", "\\x1b[2J\\x0a\\x0d\\x09\\x7f"},
        {"\xc2\x9b\xc2\xa0", "\\xc2\\x9b\xc2\xa0"},
        {"\x9b", "\\x9b"},
        {"a\xc3", "a\\xc3"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char shown[128];

        assert_int_equal(leat_show(shown, sizeof(shown), cases[i].text), strlen(cases[i].shown));
        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(leat_is_shown_as_is(cases[i].text),
                         strcmp(cases[i].text, cases[i].shown) == 0);
    }
}

/* No half of a character, nor of an escape; and nothing behind what did not fit. */
static void test_cut(void **state) {
    static const char text[] = "ab\xc3\xa4\x1b"
                               "c";
    static const char *const cut[] = {"",           "",           "a",          "ab",        "ab",
                                      "ab\xc3\xa4", "ab\xc3\xa4", "ab\xc3\xa4", "ab\xc3\xa4"};

    (void)state;
    for (size_t size = 0; size < sizeof(cut) / sizeof(cut[0]); size++) {
        char shown[16] = "";

        assert_int_equal(leat_show(shown, size, text), 9);
        assert_string_equal(shown, cut[size]);
    }
}

static void test_bytes(void **state) {
    static const struct {
        uint64_t n_bytes;
        const char *shown;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {UINT64_C(3) << 29, "1.5 GiB"},
                 {UINT64_MAX, "16.0 EiB"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buffer[LEAT_SHOW_BYTES_MAX];

        assert_string_equal(leat_show_bytes(cases[i].n_bytes, buffer), cases[i].shown);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
