/* test_filter.c: pipeline/stages/filter.c: every condition, alone and together, on each type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

/* Which of the values of the field `a` are left, as one text. */
static void check_left(const char *data, const char *conditions, const char *expected) {
    struct leat_text stages = {.data = NULL}, lines = {.data = NULL};

    leat_text_add(&stages, "- filter: {input: a, %s}\n- select: {fields: [a]}", conditions);
    for (const char *at = expected, *end; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, ' ');
        leat_text_add(&lines, "{\"a\": %.*s}\n", (int)(end - at), at);
    }
    leat_text_add(&lines, "%s", "");
    check_rows(data, stages.data, lines.data);
    free(stages.data);
    free(lines.data);
}

static void test_texts(void **state) {
    const char *data = "a,b\nx,1\n,2\nyy,3\n10,4\n\xc3\xa9\xc3\xa9,5\n9.5,6\n";

    (void)state;
    check_left(data, "empty: true", "\"\"");
    check_left(data, "empty: false", "\"x\" \"yy\" \"10\" \"\xc3\xa9\xc3\xa9\" \"9.5\"");
    check_left(data, "equals: [yy, x]", "\"x\" \"yy\"");
    check_left(data, "equals: yy", "\"yy\"");
    check_left(data, "equals: \"\"", "\"\"");
    check_left(data, "equals: \"10.0\"", ""); /* as text */
    check_left(data, "not_equals: [x, \"\", yy]", "\"10\" \"\xc3\xa9\xc3\xa9\" \"9.5\"");
    check_left(data, "min: 9.5", "\"10\" \"9.5\"");
    check_left(data, "max: 9.75", "\"9.5\"");
    check_left(data, "min_length: 2, max_length: 2", "\"yy\" \"10\" \"\xc3\xa9\xc3\xa9\"");
    check_left(data, "min_length: 2, max_length: 2, not_equals: [yy], max: 100", "\"10\"");
}

static void test_numbers(void **state) {
    const char *data = "{\"a\": 1}\n{\"a\": -5}\n{\"a\": 9007199254740992}\n"
                       "{\"a\": 9007199254740993}\n{\"a\": 0}\n";

    (void)state;
    check_left(data, "equals: 1", "1");
    check_left(data, "equals: [1.0, -5e0, 0.5]", "1 -5");
    check_left(data, "equals: 9007199254740993", "9007199254740993"); /* 2^53 + 1 */
    check_left(data, "not_equals: [9007199254740992, 1]", "-5 9007199254740993 0");
    check_left(data, "min: 0, max: 1", "1 0");
    check_left(data, "min: 0, not_equals: 0, max: 5", "1");
    check_left("{\"a\": true}\n{\"a\": false}\n", "equals: true", "true");
    check_left("{\"a\": 0.1}\n{\"a\": 0.5}\n", "equals: 0.1", "0.1");
    check_left("{\"a\": 0.1}\n{\"a\": 0.5}\n", "equals: [nan]", "");
}

/* NaN, which is shown as null, equals nothing and lies nowhere. */
static void test_nan(void **state) {
    const char *data = "a\n1\nnan\n2.5\n";
    static const struct {
        const char *conditions, *left;
    } rows[] = {
        {"not_equals: 1", "{\"a\": null}\n{\"a\": 2.5}\n"},
        {"not_equals: [nan, 2.5]", "{\"a\": 1.0}\n{\"a\": null}\n"},
        {"not_equals: 1, max: 9", "{\"a\": 2.5}\n"},
        {"equals: [nan, 1]", "{\"a\": 1.0}\n"},
        {"min: -9", "{\"a\": 1.0}\n{\"a\": 2.5}\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char stages[128];

        (void)snprintf(stages, sizeof(stages),
                       "- cast: {input: a, dtype: float32}\n- filter: {input: a, %s}",
                       rows[i].conditions);
        check_rows(data, stages, rows[i].left);
    }
}

static void test_lists(void **state) {
    (void)state;
    check_rows("{\"x\": [1, 2]}\n{\"x\": []}\n{\"x\": [3]}\n",
               "- filter: {input: x, empty: false, max_length: 1}", "{\"x\": [3]}\n");
    check_rows("{\"x\": [1, 2]}\n{\"x\": []}\n", "- filter: {input: x, empty: true}",
               "{\"x\": []}\n");
}

static void test_many_values(void **state) {
    struct leat_text list = {.data = NULL}, data = {.data = NULL}, left = {.data = NULL};

    (void)state;
    leat_text_add(&list, "equals: [");
    leat_text_add(&data, "a,b\n");
    for (int i = 0; i < 10000; i++) {
        leat_text_add(&list, "%s%d", i ? ", " : "", i * 2);
        if (i < 500)
            leat_text_add(&data, "%d,\n", i);
        if (i < 500 && i % 2 == 0)
            leat_text_add(&left, "%s\"%d\"", i ? " " : "", i);
    }
    leat_text_add(&list, "]");
    check_left(data.data, list.data, left.data);
    free(list.data);
    free(data.data);
    free(left.data);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a\n1\n", "- filter: {input: a}",
                  "x.yaml:5:9: streams.x.stages[0].filter: has no condition: give `empty`, "
                  "`equals`, `not_equals`, `min`, `max`, `min_length` or `max_length`");
    check_refused("{\"a\": 1}\n", "- filter: {input: a, empty: true}",
                  "x.yaml:5:25: streams.x.stages[0].filter.input: \"a\" is one number per record, "
                  "so it is never empty and has no length: test it with `equals`, `min` or `max`");
    check_refused("{\"a\": [1]}\n", "- filter: {input: a, equals: 1}",
                  "x.yaml:5:25: streams.x.stages[0].filter.input: \"a\" is a list: test it with "
                  "`empty`, `min_length` or `max_length`");
    check_refused("{\"a\": 1}\n", "- filter: {input: a, equals: [1, x]}",
                  "x.yaml:5:36: streams.x.stages[0].filter.equals: \"x\" is not a number, but the "
                  "field holds numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nan),         cmocka_unit_test(test_lists),
        cmocka_unit_test(test_many_values), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
