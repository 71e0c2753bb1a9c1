/* test_strip.c: pipeline/stages/strip.c. */
#include "tests/pipeline/shared_stream.h"

#define ONLY "\n- select: {fields: [a]}"

static void test_blanks(void **state) {
    (void)state;
    check_rows("{\"a\": \" \\t x y \\r\\n\"}\n{\"a\": \"\\u3000\\u00a0\\u2003é\\u0085\\u2029\"}\n"
               "{\"a\": \" \\u3000 \"}\n{\"a\": \"\"}\n{\"a\": \"\\u200bx\\u001f\"}\n",
               "- strip: {input: a}",
               "{\"a\": \"x y\"}\n{\"a\": \"é\"}\n{\"a\": \"\"}\n{\"a\": \"\"}\n"
               "{\"a\": \"\u200bx\\u001f\"}\n");
    check_rows("{\"a\": \" x \"}\n",
               "- strip: {input: a, output: l, side: left}\n"
               "- strip: {input: a, output: r, side: right}",
               "{\"a\": \" x \", \"l\": \"x \", \"r\": \" x\"}\n");
}

static void test_chars(void **state) {
    (void)state;
    check_rows("a,b\nééxyéxé,1\nxé,2\n x,3\nyy,4\n", "- strip: {input: a, chars: 'xé'}" ONLY,
               "{\"a\": \"y\"}\n{\"a\": \"\"}\n{\"a\": \" \"}\n{\"a\": \"yy\"}\n");
    check_rows("a,b\n-𝔘-𝔘x-,1\n", "- strip: {input: a, chars: '𝔘-', side: left}" ONLY,
               "{\"a\": \"x-\"}\n");
    check_refused(
        "a\n1\n", "- strip: {input: a, chars: ''}",
        "x.yaml:5:34: streams.x.stages[0].strip.chars: has 0 bytes; 1 to 1024 are possible");
}

/* Bytes of what is no UTF-8 are no blanks and no characters. */
static void test_invalid(void **state) {
    (void)state;
    check_rows("a,b\n\x80 \xff,1\n\xa9,2\n\xe3\x80,3\n", "- strip: {input: a}" ONLY,
               "{\"a\": \"\ufffd \ufffd\"}\n{\"a\": \"\ufffd\"}\n{\"a\": \"\ufffd\"}\n");
    check_rows("a,b\n\xa9,1\nx\xc3,2\n", "- strip: {input: a, chars: 'éx'}" ONLY,
               "{\"a\": \"\ufffd\"}\n{\"a\": \"\ufffd\"}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_chars),
        cmocka_unit_test(test_invalid),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
