/* test_template.c: pipeline/stages/template.c: parts that vanish, braces, literals of any length.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define ONLY "\n- select: {fields: [t]}"

static void test_parts(void **state) {
    (void)state;
    check_rows(
        "a,b,c\n1,x,\n,,z\n,,\"\"\n2,y,w\n",
        "- template: {output: t, join: \" | \", parts: [\"A: {a}\", \"{b}{c}\", \"C={c}\"]}" ONLY,
        "{\"t\": \"A: 1\"}\n{\"t\": \"C=z\"}\n{\"t\": \"\"}\n"
        "{\"t\": \"A: 2 | yw | C=w\"}\n");
    check_rows("a,b\n1,\n", "- template: {output: t, parts: [one, \"{b}\", \"\", two]}" ONLY,
               "{\"t\": \"one  two\"}\n");
    check_rows("a,b\n1,2\n", "- template: {output: t, join: \"\", parts: ['{a}', '{b}']}" ONLY,
               "{\"t\": \"12\"}\n");
}

static void test_braces(void **state) {
    (void)state;
    check_rows("a\nx\n", "- template: {output: t, parts: ['{{{a}}}', '{{}}', '}}{{a}}']}" ONLY,
               "{\"t\": \"{x} {} }{a}\"}\n");
}

static void test_numbers_and_other_outputs(void **state) {
    (void)state;
    check_rows("{\"n\": 3, \"f\": 0.5, \"b\": true, \"s\": \"v\"}\n",
               "- template: {output: s, parts: ['{n},{f},{b},{s}']}\n- select: {fields: [s]}",
               "{\"s\": \"3,0.5,true,v\"}\n"); /* its own input, under the same name */
}

/* Literals and fields around the step of 32 bytes that literals are copied by. */
static void test_lengths(void **state) {
    (void)state;
    for (size_t n = 0; n < 100; n++) {
        struct leat_text stages = {.data = NULL}, rows = {.data = NULL}, data = {.data = NULL};
        char literal[101], field[101];

        memset(literal, 'l', n);
        literal[n] = '\0';
        for (size_t i = 0; i < 100 - n; i++)
            field[i] = (char)('a' + i % 26);
        field[100 - n] = '\0';
        leat_text_add(&stages,
                      "- template: {output: t, join: %s-, parts: ['{a}%s', '%s{a}%s']}" ONLY,
                      literal, literal, literal, literal);
        leat_text_add(&data, "a\n%s\n%s\n", field, field);
        for (int i = 0; i < 2; i++)
            leat_text_add(&rows, "{\"t\": \"%s%s%s-%s%s%s\"}\n", field, literal, literal, literal,
                          field, literal);
        check_rows(data.data, stages.data, rows.data);
        free(stages.data);
        free(rows.data);
        free(data.data);
    }
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a\n1\n", "- template: {output: t, parts: ['x {a']}",
                  "x.yaml:5:38: streams.x.stages[0].template.parts: part 0 has a single '{': write "
                  "'{{' for a brace");
    check_refused("a\n1\n", "- template: {output: t, parts: [ok, 'a}']}",
                  "x.yaml:5:38: streams.x.stages[0].template.parts: part 1 has a single '}': write "
                  "'}}' for a brace");
    check_refused(
        "abc\n1\n", "- template: {output: t, parts: ['{acb}']}",
        "x.yaml:5:38: streams.x.stages[0].template.parts: there is no field \"acb\" here; "
        "did you mean \"abc\"?");
    check_refused("a\n1\n", "- template: {output: t, parts: ['{}']}",
                  "x.yaml:5:38: streams.x.stages[0].template.parts: the name of a field may have 1 "
                  "to 63 bytes; this one has 0");
    check_refused("{\"x\": [1]}\n", "- template: {output: t, parts: ['{x}']}",
                  "x.yaml:5:38: streams.x.stages[0].template.parts: \"x\" is a list, but a text "
                  "can contain only texts and numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_braces),
        cmocka_unit_test(test_numbers_and_other_outputs),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
