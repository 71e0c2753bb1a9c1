/* test_pad.c: pipeline/stages/pad.c: where a row ends up, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define LISTS "jsonl: {paths: [lists.jsonl]}"

/* The batches of x (int64) and, if there is one, m, as "[shape] x.. / m..; ..." */
static void print_batch(const struct leat_output *output, void *user) {
    struct leat_text *text = user;
    const struct leat_slot_header *header = output->slot.memory;
    const struct leat_slot_tensor *x = batch_descriptor(output, "x");
    uint64_t n;
    const int64_t *values = batch_tensor(output, "x", LEAT_DTYPE_INT64, &n);
    const int32_t *mask = NULL;

    if (header->n_tensors > 1)
        mask = batch_tensor(output, "m", LEAT_DTYPE_INT32, &n);
    assert_int_equal(x->ndim, 2);
    leat_text_add(text, "%d*%d:", (int)x->shape[0], (int)x->shape[1]);
    for (uint64_t i = 0; i < n; i++)
        leat_text_add(text, " %d%s", (int)values[i], mask && !mask[i] ? "'" : "");
    leat_text_add(text, "; ");
}

static void check_batches(const char *pad, const char *batch, const char *expected) {
    struct leat_text text = {.data = NULL};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = print_batch, .user = &text};
    char stages[256];
    struct driven driven;

    folder_print("lists.jsonl", "{\"x\": [1, 2]}\n{\"x\": []}\n{\"x\": [3, 4, 5]}\n");
    (void)snprintf(stages, sizeof(stages), "- pad: {input: x, %s}\n%s", pad, batch);
    driven = drive_stream(LISTS, "on_error: skip", stages, &how);
    assert_string_equal(driven.error.message, "");
    assert_string_equal(text.data, expected);
    free(text.data);
}

static void test_lengths_and_sides(void **state) {
    (void)state;
    check_batches("length: 4, value: -1, mask: m", "- batch: {batch_size: 2}",
                  "2*4: 1 2 -1' -1' -1' -1' -1' -1'; 1*4: 3 4 5 -1'; ");
    check_batches("length: 3, value: 7, side: left, mask: m", "- batch: {batch_size: 3}",
                  "3*3: 7' 1 2 7' 7' 7' 3 4 5; ");
    check_batches("longest: true, value: 9, mask: m", "- batch: {batch_size: 2}",
                  "2*2: 1 2 9' 9'; 1*3: 3 4 5; ");
    check_batches("longest: true, value: 9", "- batch: {batch_size: 3, drop_last: true}",
                  "3*3: 1 2 9 9 9 9 3 4 5; ");
    check_batches("multiple_of: 4, value: 0", "- batch: {batch_size: 2}",
                  "2*4: 1 2 0 0 0 0 0 0; 1*4: 3 4 5 0; ");
    check_batches("longest: true, multiple_of: 2, value: 0, side: left",
                  "- skip: {count: 1}\n- batch: {batch_size: 2}", "2*4: 0 0 0 0 0 3 4 5; ");
    check_batches("longest: true, value: 0, mask: m",
                  "- skip: {count: 1}\n- take: {count: 1}\n"
                  "- batch: {batch_size: 2}",
                  "1*0:; ");
}

static void test_longer_rows_are_bad(void **state) {
    (void)state;
    check_batches("length: 2, value: 0", "- batch: {batch_size: 3}", "2*2: 1 2 0 0; ");
    check_rows("{\"x\": [1, 2]}\n{\"x\": [1, 2, 3]}\n", "- pad: {input: x, length: 2, value: 0}",
               "{\"x\": [1, 2]}\nin.jsonl:2: pad.x: has 3 elements, more than pad.length 2: cut it "
               "with max_length\n");
}

static void test_refused(void **state) {
    const char *data = "{\"x\": [1], \"f\": [0.5], \"a\": 1, \"t\": \"v\"}\n";

    (void)state;
    check_refused(data, "- pad: {input: x, value: 0}",
                  "x.yaml:5:9: streams.x.stages[0].pad: give exactly one of `length`, `longest` "
                  "and `multiple_of`");
    check_refused(data, "- pad: {input: x, length: 3, longest: true, value: 0}",
                  "x.yaml:5:33: streams.x.stages[0].pad.length: give exactly one of `length`, "
                  "`longest` and `multiple_of`");
    check_refused(data, "- pad: {input: x, length: 3}",
                  "x.yaml:5:9: streams.x.stages[0].pad: the tokenizer of \"x\" has no padding "
                  "token: set `value` to a number, or to a token such as \"[PAD]\" (0 is rarely "
                  "right)");
    check_refused(data, "- pad: {input: x, length: 3, value: '[PAD]'}",
                  "x.yaml:5:43: streams.x.stages[0].pad.value: \"[PAD]\" is a token, but \"x\" "
                  "does not come from a `tokenizer`: give a number");
    check_refused(data, "- pad: {input: a, length: 3, value: 0}",
                  "x.yaml:5:22: streams.x.stages[0].pad.input: \"a\" is one number, not a list");
    check_refused(data, "- pad: {input: t, length: 3, value: 0}",
                  "x.yaml:5:22: streams.x.stages[0].pad.input: \"t\" is text, not a list");
    check_refused(data, "- pad: {input: x, length: 3, value: 0.5}",
                  "x.yaml:5:43: streams.x.stages[0].pad.value: 0.5 is not a value of type int64, "
                  "the type of \"x\"");
    check_refused(data,
                  "- pad: {input: x, length: 3, value: 0}\n- pad: {input: x, length: 4, value: 0}",
                  "x.yaml:6:22: streams.x.stages[1].pad.input: \"x\" is already padded");
    check_refused(
        data, "- pad: {input: x, length: 3, value: 0, mask: m}\n- cast: {input: m, dtype: bool}",
        "x.yaml:6:23: streams.x.stages[1].cast.input: \"m\" is a mask, which exists only in "
        "batches, "
        "so no stage can read it");
}

/* A row that a filter behind a shuffle drops is not bad, whatever its length, and is cached too. */
static void test_longer_row_that_is_dropped(void **state) {
    struct leat_text text = {.data = NULL};
    struct drive how = {.options = {.n_epochs = 2}, .on_batch = print_batch, .user = &text};
    struct driven driven;

    (void)state;
    folder_print("lists.jsonl", "{\"x\": [1], \"keep\": 1}\n{\"x\": [1, 2, 3, 4], \"keep\": 0}\n"
                                "{\"x\": [5, 6], \"keep\": 1}\n");
    driven = drive_stream(LISTS, "cache: {path: .}",
                          "- shuffle: {buffer_size: 1}\n- filter: {input: keep, equals: 1}\n"
                          "- pad: {input: x, length: 2, value: 0}\n- select: {fields: [x]}\n"
                          "- batch: {batch_size: 2}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_string_equal(text.data, "2*2: 1 0 5 6; 2*2: 1 0 5 6; ");
    assert_true(driven.n_cached > 0);
    assert_int_equal(driven.n_damaged, 0);
    free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_and_sides),
        cmocka_unit_test(test_longer_rows_are_bad),
        cmocka_unit_test(test_longer_row_that_is_dropped),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
