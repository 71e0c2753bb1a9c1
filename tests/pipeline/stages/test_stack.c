/* test_stack.c: pipeline/stages/stack.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("stack");
}

static void test_rows(void **state) {
    (void)state;
    check_rows("{\"a\": 3, \"x\": 0.5, \"y\": true}\n",
               "- stack: {inputs: [y, a, x, a], output: m}\n- stack: {inputs: [m, a], output: a}",
               "{\"a\": [1.0, 3.0, 0.5, 3.0, 3.0], \"x\": 0.5, \"y\": true, \"m\": [1.0, 3.0, 0.5, "
               "3.0]}\n");
    check_rows("{\"a\": 300, \"b\": 1}\n", "- stack: {inputs: [b, a], output: m, dtype: uint8}",
               "in.jsonl:1: stack.a: 300 does not fit uint8\n");
    check_rows("{\"a\": 0.5, \"b\": 1}\n", "- stack: {inputs: [b, a], output: m, dtype: int32}",
               "in.jsonl:1: stack.a: 0.5 is not a whole number, but int32 needs one\n");
    check_rows("{\"a\": 16777217}\n", "- stack: {inputs: [a], output: m}",
               "in.jsonl:1: stack.a: float32 would round 16777217: set a larger `dtype`\n");
    check_rows("{\"a\": 16777217}\n", "- stack: {inputs: [a], output: m, dtype: float32}",
               "{\"a\": 16777217, \"m\": [16777216.0]}\n");
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- stack: {inputs: a, output: m, nan: fail}",
               "in.csv:2: stack.a: is NaN: to replace it with a number, set `nan: default`\n");
    check_rows("a,e\nnan,\n",
               "- cast: {input: a, dtype: float32}\n- stack: {inputs: [a, a], output: m, nan: "
               "default, default: 2}\n- select: {fields: [m]}",
               "{\"m\": [2.0, 2.0]}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": [1]}\n", "- stack: {inputs: [a], output: m}",
                  "x.yaml:5:25: streams.x.stages[0].stack.inputs: the lists of \"a\" differ in "
                  "length, but `stack` accepts only numbers and lists of fixed width");
    check_refused("{\"a\": 1}\n", "- stack: {inputs: [a, c], output: m}",
                  "x.yaml:5:25: streams.x.stages[0].stack.inputs: there is no field \"c\" here; "
                  "did you mean \"a\"?");
    check_refused(
        "a\n1\n", "- stack: {inputs: [a], output: m}",
        "x.yaml:5:25: streams.x.stages[0].stack.inputs: \"a\" is text: `cast` it to float32 first");
    check_refused("{\"a\": 1}\n",
                  "- one_hot: {input: a, classes: 1048576}\n- stack: {inputs: [a, a], output: m}",
                  "x.yaml:6:25: streams.x.stages[1].stack.inputs: a row would have more than "
                  "1048576 numbers");
}

/* What one block would need is refused before it is taken. */
static void test_too_much(void **state) {
    struct leat_text data = {.data = NULL};
    struct driven driven;

    (void)state;
    for (int i = 0; i < 1000; i++)
        leat_text_add(&data, "{\"a\": 1}\n");
    folder_print("in.jsonl", "%s", data.data);
    free(data.data);
    driven = drive_stream("jsonl: {paths: [in.jsonl]}", "",
                          "- one_hot: {input: a, classes: 100000}\n"
                          "- stack: {inputs: [a], output: a}\n- batch: {batch_size: 2}",
                          &(struct drive){.options = {.n_epochs = 1}});
    assert_int_equal(driven.error.code, -EOVERFLOW);
    assert_non_null(
        strstr(driven.error.message, "\"a\" would have 100000000 numbers in one block"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_much),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
