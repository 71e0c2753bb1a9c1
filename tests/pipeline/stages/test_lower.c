/* test_lower.c: pipeline/stages/lower.c. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "tests/pipeline/shared_stream.h"

static void test_texts(void **state) {
    (void)state;
    check_rows("a,b\nABC xyz [@`{],1\nÄÖÜ ẞ Straße,2\nİI K Å,3\nǅ Ⴀ 𐐀,4\n,5\n",
               "- lower: {input: a}\n- select: {fields: [a]}",
               "{\"a\": \"abc xyz [@`{]\"}\n{\"a\": \"äöü ß straße\"}\n{\"a\": \"i̇i k å\"}\n"
               "{\"a\": \"ǆ ⴀ 𐐨\"}\n{\"a\": \"\"}\n");
    check_rows("a\nX\n", "- lower: {input: a, output: b}", "{\"a\": \"X\", \"b\": \"x\"}\n");
}

/* As Python's str.lower. */
static void test_sigma(void **state) {
    static const char *const cases[][2] = {
        {"ΟΔΟΣ", "οδος"}, {"ΣΑΣ ΣΑΣ", "σας σας"}, {"Σ", "σ"},
        {"ΑΣ.", "ας."},   {"Α.Σ", "α.ς"},         {"ΑΣ.Α", "ασ.α"},
        {"ΑΣ'Β", "ασ'β"}, {"ΑΣ1", "ας1"},         {"Α\u0301Σ", "α\u0301ς"},
        {"1Σ", "1σ"},     {"ΣΣ", "σς"},           {"ΑΣ\u00ad", "ας\u00ad"},
    };
    struct leat_text data = {.data = NULL}, expected = {.data = NULL};

    (void)state;
    leat_text_add(&data, "a,b\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        leat_text_add(&data, "%s,\n", cases[i][0]);
        leat_text_add(&expected, "{\"a\": \"%s\"}\n", cases[i][1]);
    }
    check_rows(data.data, "- lower: {input: a}\n- select: {fields: [a]}", expected.data);
    free(data.data);
    free(expected.data);
}

static void check_bytes(const char *bytes, const char *expected) {
    char *rows;

    folder_print("a.csv", "a,b\n%s,\n", bytes);
    rows = stream_head("csv: {paths: [a.csv]}", "",
                       "- lower: {input: a}\n- template: {output: t, parts: ['1']}\n"
                       "- cast: {input: t, dtype: int32}\n- select: {fields: [t]}",
                       0, 1);
    if (!strstr(rows, expected))
        fail_msg("%s gives %s", bytes, rows);
    free(rows);
}

/* What is no UTF-8 is U+FFFD by the time that it comes here, which has no case. */
static void test_invalid(void **state) {
    (void)state;
    check_bytes("A\xffZ", "\"a\xef\xbf\xbdz\"");
    check_bytes("A\xce", "\"a\xef\xbf\xbd\"");
    check_bytes("\xe1\xba", "\"\xef\xbf\xbd\"");
    check_bytes("\x80\xce\xa3", "\"\xef\xbf\xbd\xcf\x83\"");
    check_bytes("A\x80\xce\xa3", "\"a\xef\xbf\xbd\xcf\x83\"");
}

/* Room for one and a half of the input is enough. */
static void test_growth(void **state) {
    (void)state;
    for (uint32_t code = 0x80; code <= LEAT_UNICODE_MAX; code++) {
        uint32_t codes[LEAT_UNICODE_LOWER_MAX], n, n_bytes = 0;
        uint8_t bytes[4];

        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        n = leat_unicode_lower(code, codes);
        for (uint32_t i = 0; i < n; i++)
            n_bytes += leat_unicode_encode(codes[i], bytes);
        assert_true(2 * n_bytes <= 3 * leat_unicode_encode(code, bytes));
    }
    check_rows("a,b\nİİİİȺȺȾ,1\n", "- lower: {input: a}\n- select: {fields: [a]}",
               "{\"a\": \"i̇i̇i̇i̇ⱥⱥⱦ\"}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- lower: {input: a}",
                  "x.yaml:5:24: streams.x.stages[0].lower.input: \"a\" is int64, not text: turn it "
                  "into text with `template`");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),   cmocka_unit_test(test_sigma),
        cmocka_unit_test(test_invalid), cmocka_unit_test(test_growth),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
