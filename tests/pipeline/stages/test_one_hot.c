/* test_one_hot.c: pipeline/stages/one_hot.c. */
#include <stdlib.h>

#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("one_hot");
}

static void test_unknown(void **state) {
    (void)state;
    check_rows("{\"a\": 3}\n", "- one_hot: {input: a, classes: 3}",
               "in.jsonl:1: one_hot.a: 3 is not a class from 0 to 2\n");
    check_rows("{\"a\": -9223372036854775808}\n", "- one_hot: {input: a, classes: 3}",
               "in.jsonl:1: one_hot.a: -9223372036854775808 is not a class from 0 to 2\n");
    check_rows("{\"a\": \"x\"}\n{\"a\": \"z\"}\n", "- one_hot: {input: a, categories: [x, y]}",
               "{\"a\": [1.0, 0.0]}\nin.jsonl:2: one_hot.a: \"z\" is not one of the 2 categories: "
               "add it, or set `unknown: zeros`\n");
    check_rows("{\"a\": \"z\"}\n{\"a\": \"y\"}\n",
               "- one_hot: {input: a, output: b, categories: [x, y], unknown: zeros, dtype: bool}",
               "{\"a\": \"z\", \"b\": [false, false]}\n{\"a\": \"y\", \"b\": [false, true]}\n");
    check_rows("{\"a\": 30}\n{\"a\": 7}\n",
               "- one_hot: {input: a, categories: [7, 30], dtype: uint8}",
               "{\"a\": [0, 1]}\n{\"a\": [1, 0]}\n");
    check_rows("{\"a\": true}\n", "- one_hot: {input: a, classes: 2, dtype: uint8}",
               "{\"a\": [0, 1]}\n");
}

static void on_batch(const struct leat_output *output, void *user) {
    static const uint8_t expected[] = {0, 1, 0, 7, 7, 0, 0, 1, 7, 7, 1, 0, 0, 7, 7};
    const struct leat_slot_tensor *mask = batch_descriptor(output, "mask");
    uint64_t n;
    const void *values = batch_tensor(output, "a", LEAT_DTYPE_UINT8, &n);

    assert_int_equal(n, sizeof(expected));
    assert_memory_equal(values, expected, sizeof(expected));
    assert_int_equal(mask->shape[1], 5);
    ++*(int *)user;
}

/* A list of a fixed width may be padded like another. */
static void test_padded(void **state) {
    int n_batches = 0;

    (void)state;
    folder_print("in.jsonl", "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 0}\n");
    (void)drive_stream(
        "jsonl: {paths: [in.jsonl]}", "",
        "- one_hot: {input: a, classes: 3, dtype: uint8}\n"
        "- pad: {input: a, length: 5, value: 7, mask: mask}\n"
        "- batch: {batch_size: 3}",
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = on_batch, .user = &n_batches});
    assert_int_equal(n_batches, 1);
}

/* Blocks of any size, jobs in any order. */
static void test_any_order(void **state) {
    const char *stages = "- one_hot: {input: a, output: b, classes: 10}\n"
                         "- stack: {inputs: [b, a], output: m, dtype: uint8}\n"
                         "- select: {fields: [m]}\n- shuffle: {buffer_size: 50}\n"
                         "- batch: {batch_size: 7}";
    struct leat_text data = {.data = NULL};
    struct driven first, again;

    (void)state;
    for (int i = 0; i < 3000; i++)
        leat_text_add(&data, "{\"a\": %d}\n", i * 7919 % 11);
    folder_print("in.jsonl", "%s", data.data);
    free(data.data);
    first = drive_stream("jsonl: {paths: [in.jsonl]}", "on_error: skip", stages,
                         &(struct drive){.options = {.n_epochs = 2}});
    again =
        drive_stream("jsonl: {paths: [in.jsonl]}", "on_error: skip\n    block_bytes: 4096", stages,
                     &(struct drive){.options = {.n_epochs = 2}, .n_jobs = 5, .random = 3});
    assert_int_equal(first.error.code, 0);
    assert_true(first.stats.counts.figures.n_bad_records > 0);
    assert_string_equal(first.digest, again.digest);
}

static void test_refused(void **state) {
    (void)state;
    check_refused(
        "{\"a\": 1}\n", "- one_hot: {input: a}",
        "x.yaml:5:9: streams.x.stages[0].one_hot: give exactly one of `classes` and `categories`");
    check_refused("{\"a\": 1}\n", "- one_hot: {input: a, classes: 2, categories: [a]}",
                  "x.yaml:5:38: streams.x.stages[0].one_hot.classes: give exactly one of `classes` "
                  "and `categories`");
    check_refused(
        "{\"a\": 1}\n", "- one_hot: {input: a, classes: 1048577}",
        "x.yaml:5:38: streams.x.stages[0].one_hot.classes: 1048577 is outside 1..1048576");
    check_refused("{\"a\": 1}\n", "- one_hot: {input: a, categories: [x, y, x]}",
                  "x.yaml:5:41: streams.x.stages[0].one_hot.categories: \"x\" occurs twice");
    check_refused("a\n1\n", "- one_hot: {input: a, classes: 2}",
                  "x.yaml:5:38: streams.x.stages[0].one_hot.classes: \"a\" is text: give "
                  "`categories`, or `cast` it to int32 first");
    check_refused(
        "{\"a\": [1]}\n", "- one_hot: {input: a, classes: 2}",
        "x.yaml:5:26: streams.x.stages[0].one_hot.input: \"a\" is a list, not one number");
    check_refused("{\"a\": 1.5}\n", "- one_hot: {input: a, classes: 2}",
                  "x.yaml:5:26: streams.x.stages[0].one_hot.input: \"a\" is float64, but whole "
                  "numbers or text are needed: `bin` it, or `cast` it to whole numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),   cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_padded),  cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
