/* test_regex_replace.c: pipeline/stages/regex_replace.c. */
#include "tests/pipeline/shared_stream.h"

#define ONLY "\n- select: {fields: [a]}"

static void test_texts(void **state) {
    (void)state;
    check_rows("{\"a\": \" x \\u3000\\t y1234\"}\n{\"a\": \"\"}\n{\"a\": \"ÉÀ7é\"}\n",
               "- regex_replace: {input: a, pattern: '\\s+', new: ' '}\n"
               "- regex_replace: {input: a, output: b, pattern: '\\p{Lu}|\\d{2}'}",
               "{\"a\": \" x y1234\", \"b\": \" x y\"}\n{\"a\": \"\", \"b\": \"\"}\n"
               "{\"a\": \"ÉÀ7é\", \"b\": \"7é\"}\n");
    check_rows("a,b\nabc,1\n", "- regex_replace: {input: a, pattern: '(b)', new: '\\1$1'}" ONLY,
               "{\"a\": \"a\\\\1$1c\"}\n");
    check_rows("a,b\nfoo bar,1\n", "- regex_replace: {input: a, pattern: '(?i)\\bB(?=AR)'}" ONLY,
               "{\"a\": \"foo ar\"}\n");
}

/* Empty matches count, but not at the end of the match before. */
static void test_empty_matches(void **state) {
    (void)state;
    check_rows("a,b\nbaac,1\n,2\né,3\n",
               "- regex_replace: {input: a, pattern: 'a*', new: '-'}" ONLY,
               "{\"a\": \"-b-c-\"}\n{\"a\": \"-\"}\n{\"a\": \"-é-\"}\n");
}

static void test_bad_records(void **state) {
    (void)state;
    check_rows("a,b\nx\xff,1\n", "- regex_replace: {input: a, pattern: x}" ONLY,
               "{\"a\": \"\ufffd\"}\n");
    check_rows("a,b\nok,0\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!,1\n",
               "- regex_replace: {input: a, pattern: '(?:a|aa)+$'}" ONLY,
               "{\"a\": \"ok\"}\nin.csv:3: regex_replace.a: a regex failed after byte 0 of a text: "
               "match limit exceeded\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a\n1\n", "- regex_replace: {input: a, pattern: 'x(y'}",
                  "x.yaml:5:44: streams.x.stages[0].regex_replace.pattern: at byte 3 of the regex: "
                  "a group is not closed");
    check_refused("a\n1\n", "- regex_replace: {input: a, pattern: '[z-a]'}",
                  "x.yaml:5:44: streams.x.stages[0].regex_replace.pattern: at byte 4 of the regex: "
                  "the range U+007A-U+0061 in brackets is empty: its ends are in the wrong order");
    check_refused("a\n1\n", "- regex_replace: {input: a, pattern: '(a)\\2'}",
                  "x.yaml:5:44: streams.x.stages[0].regex_replace.pattern: at byte 5 of the regex: "
                  "a backreference names group 2; the regex has groups 1 to 1");
    check_refused("{\"a\": 1}\n", "- regex_replace: {input: a, pattern: x}",
                  "x.yaml:5:32: streams.x.stages[0].regex_replace.input: \"a\" is int64, not text: "
                  "turn it into text with `template`");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_empty_matches),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
