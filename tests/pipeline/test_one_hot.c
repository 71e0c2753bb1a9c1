/* test_one_hot.c: pipeline/stages/one_hot.c. */
#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("one_hot");
}

static void test_unknown(void **state) {
    (void)state;
    check_rows("{\"a\": 3}\n", "- one_hot: {input: a, classes: 3}",
               "in.jsonl:1: one_hot.a: 3 is no class: they are 0..2\n");
    check_rows("{\"a\": -9223372036854775808}\n", "- one_hot: {input: a, classes: 3}",
               "in.jsonl:1: one_hot.a: -9223372036854775808 is no class: they are 0..2\n");
    check_rows("{\"a\": \"x\"}\n{\"a\": \"z\"}\n", "- one_hot: {input: a, categories: [x, y]}",
               "{\"a\": [1.0, 0.0]}\nin.jsonl:2: one_hot.a: \"z\" is none of the 2 categories; "
               "`unknown: zeros` would take it\n");
    check_rows("{\"a\": \"z\"}\n{\"a\": \"y\"}\n",
               "- one_hot: {input: a, output: b, categories: [x, y], unknown: zeros, dtype: bool}",
               "{\"a\": \"z\", \"b\": [false, false]}\n{\"a\": \"y\", \"b\": [false, true]}\n");
    check_rows("{\"a\": 30}\n{\"a\": 7}\n",
               "- one_hot: {input: a, categories: [7, 30], dtype: uint8}",
               "{\"a\": [0, 1]}\n{\"a\": [1, 0]}\n");
    check_rows("{\"a\": true}\n", "- one_hot: {input: a, classes: 2, dtype: uint8}",
               "{\"a\": [0, 1]}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- one_hot: {input: a}",
                  "x.yaml:5:9: streams.x.stages[0].one_hot: one of `classes` and `categories` "
                  "says what there is");
    check_refused("{\"a\": 1}\n", "- one_hot: {input: a, classes: 2, categories: [a]}",
                  "x.yaml:5:38: streams.x.stages[0].one_hot.classes: one of `classes` and "
                  "`categories` says what there is");
    check_refused(
        "{\"a\": 1}\n", "- one_hot: {input: a, classes: 1048577}",
        "x.yaml:5:38: streams.x.stages[0].one_hot.classes: 1048577 is outside 1..1048576");
    check_refused("{\"a\": 1}\n", "- one_hot: {input: a, categories: [x, y, x]}",
                  "x.yaml:5:41: streams.x.stages[0].one_hot.categories: \"x\" is there twice");
    check_refused("a\n1\n", "- one_hot: {input: a, classes: 2}",
                  "x.yaml:5:38: streams.x.stages[0].one_hot.classes: \"a\" is text: give "
                  "`categories`, or `cast` it to int32 first");
    check_refused(
        "{\"a\": [1]}\n", "- one_hot: {input: a, classes: 2}",
        "x.yaml:5:26: streams.x.stages[0].one_hot.input: \"a\" is a list, not one number");
    check_refused("{\"a\": 1.5}\n", "- one_hot: {input: a, classes: 2}",
                  "x.yaml:5:26: streams.x.stages[0].one_hot.input: \"a\" is float64: `bin` it, or "
                  "`cast` it to whole numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
