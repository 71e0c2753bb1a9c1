/* test_shown.c: what people see of text that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "proto/base/shown.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
