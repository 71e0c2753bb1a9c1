/* test_chunk.c: pipeline/stages/chunk.c, shared_parts.c: the windows of each document, in order,
 * whatever else; bounds of batches and windows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"

#define LONGEST 90
#define N_ROWS  400

struct windows {
    uint32_t length, stride, min_length;
    size_t document;
    uint32_t start; /* of the next window */
    uint64_t n_rows;
};

static void next_document(struct windows *windows) {
    windows->document++;
    windows->start = 0;
}

/* Goes on to the next window that is not left out. */
static void settle(struct windows *windows) {
    for (; windows->document < N_ROWS; next_document(windows)) {
        uint32_t n = document_length(windows->document, LONGEST);

        while (windows->start == 0 || windows->start < n) {
            uint32_t left = n - windows->start;
            bool is_first = windows->start == 0;

            if (!is_first && windows->start - windows->stride + windows->length >= n)
                break; /* the one before reached the end */
            if ((left < windows->length ? left : windows->length) >= windows->min_length)
                return;
            windows->start += windows->stride;
        }
    }
}

static void check_windows(const struct leat_output *output, void *user) {
    struct windows *windows = user;
    const struct leat_slot_tensor *shape = batch_descriptor(output, "ids");
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "ids", LEAT_DTYPE_INT64, &n);
    const int64_t *also = batch_tensor(output, "also", LEAT_DTYPE_INT64, &n);
    const int32_t *mask = batch_tensor(output, "mask", LEAT_DTYPE_INT32, &n);
    const int32_t *starts = batch_tensor(output, "start", LEAT_DTYPE_INT32, &n);
    const int64_t *id = batch_tensor(output, "id", LEAT_DTYPE_INT64, &n);

    for (uint64_t row = 0; row < output->n_rows; row++) {
        uint32_t left;

        settle(windows);
        assert_int_equal(id[row], windows->document);
        assert_int_equal(starts[row], windows->start);
        left = document_length(windows->document, LONGEST) - windows->start;
        for (uint64_t k = 0; k < shape->shape[1]; k++) {
            uint64_t at = row * shape->shape[1] + k;
            int64_t value = (int64_t)(windows->document * DOCUMENT_STRIDE + windows->start + k);
            bool is_there = k < left && k < windows->length;

            assert_int_equal(mask[at], is_there);
            assert_int_equal(ids[at], is_there ? value : -7);
            assert_int_equal(also[at], is_there ? -value : -8);
        }
        windows->start += windows->stride;
    }
    windows->n_rows += output->n_rows;
}

#define TAIL                                                                                       \
    "- pad: {input: ids, longest: true, value: -7, mask: mask}\n"                                  \
    "- pad: {input: also, longest: true, value: -8}\n- batch: {batch_size: 13}"

static void check_case(const char *stages, struct windows windows) {
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_windows, .user = &windows};

    assert_string_equal(drive_stream(DOCUMENTS, "", stages, &how).error.message, "");
    settle(&windows);
    assert_int_equal(windows.document, N_ROWS);
    assert_true(windows.n_rows > 0);
}

static void test_windows(void **state) {
    static const struct {
        const char *args;
        struct windows windows;
    } cases[] = {
        {"length: 20", {.length = 20, .stride = 20}},
        {"length: 20, stride: 7", {.length = 20, .stride = 7}},
        {"length: 20, stride: 1", {.length = 20, .stride = 1}},
        {"length: 5, stride: 30", {.length = 5, .stride = 30}},
        {"length: 20, min_length: 20", {.length = 20, .stride = 20, .min_length = 20}},
        {"length: 20, stride: 15, min_length: 6", {.length = 20, .stride = 15, .min_length = 6}},
        {"length: 1000", {.length = 1000, .stride = 1000}},
    };

    (void)state;
    write_documents(N_ROWS, LONGEST);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[512];

        (void)snprintf(stages, sizeof(stages),
                       "- chunk: {fields: [ids, also], %s, start: start}\n%s", cases[i].args, TAIL);
        check_case(stages, cases[i].windows);
        (void)snprintf(stages, sizeof(stages),
                       "- rename: {fields: {ids: a, also: b}}\n"
                       "- chunk: {fields: [a, b], %s, start: start}\n"
                       "- rename: {fields: {a: ids, b: also}}\n%s",
                       cases[i].args, TAIL);
        check_case(stages, cases[i].windows);
    }
}

static void test_one_sequence(void **state) {
    (void)state;
    write_documents(N_ROWS, LONGEST);
    check_one_sequence(DOCUMENTS,
                       "- shuffle: {buffer_size: 50}\n"
                       "- chunk: {fields: [ids, also], length: 16, stride: 11, start: start}\n"
                       "- filter: {input: id, min: 20}\n- shuffle: {buffer_size: 300}\n" TAIL);
    check_one_sequence(DOCUMENTS, "- chunk: {fields: ids, length: 30, min_length: 3}\n"
                                  "- repeat: {count: 3}\n- take: {count: 500}\n"
                                  "- bucket: {input: ids, window: 64}\n"
                                  "- pad: {input: ids, multiple_of: 4, value: 0}\n"
                                  "- select: {fields: [ids, id]}\n- batch: {max_tokens: 256}");
}

/* What is known of a window bounds the batch, whatever the documents. */
static void test_bounds(void **state) {
    struct leat_plan *plan;

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [1, 2, 3], \"id\": 1}\n");
    plan = stream_plan(DOCUMENTS, "",
                       "- chunk: {fields: ids, length: 100}\n- pad: {input: ids, longest: true, "
                       "value: 0}\n- batch: {batch_size: 4}");
    assert_true(plan->is_bounded);
    assert_true(plan->slot_bytes <= 64 + 2 * 128 + 4 * 100 * 8 + 64 + 4 * 8 + 64);
    assert_int_equal(plan->n_order, 1);
    leat_plan_unref(plan);
}

static void test_bad_records(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [1, 2, 3], \"also\": [1, 2, 3]}\n"
                               "{\"ids\": [1, 2], \"also\": [1, 2, 3]}\n"
                               "{\"ids\": [1, 2, 3, 4, 5], \"also\": [1, 2, 3, 4, 5]}\n");
    driven = drive_stream(DOCUMENTS, "", "- chunk: {fields: [ids, also], length: 2}", &how);
    assert_string_equal(driven.error.message, "has 3 elements, but \"ids\" has 2: lists that leat "
                                              "cuts together must have the same length");
    assert_int_equal(driven.error.line, 2);
    assert_int_equal(driven.n_rows, 2);
    driven = drive_stream(DOCUMENTS, "on_error: skip",
                          "- chunk: {fields: [ids, also], length: 2, max_windows: 2}", &how);
    assert_int_equal(driven.n_rows, 2);
    assert_int_equal(driven.stats.counts.figures.n_bad_records, 2);
    driven =
        drive_stream(DOCUMENTS, "", "- chunk: {fields: [ids], length: 2, max_windows: 2}", &how);
    assert_string_equal(
        driven.error.message,
        "has 5 elements, which make 3 windows, more than chunk.max_windows 2: raise max_windows");
}

/* A repeat without end does not turn for ever if all windows are left out. */
static void test_nothing_left(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [1, 2, 3]}\n{\"ids\": [4]}\n");
    driven = drive_stream(DOCUMENTS, "",
                          "- repeat: {count: 0}\n- chunk: {fields: [ids], length: 9, min_length: "
                          "5}\n- take: {count: 3}",
                          &how);
    assert_int_equal(driven.error.code, -ENODATA);
    driven = drive_stream(DOCUMENTS, "",
                          "- repeat: {count: 0}\n- chunk: {fields: [ids], length: 1}\n- shuffle: "
                          "{buffer_size: 2000}\n- take: {count: 3000}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_rows, 3000);
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- chunk: {fields: [x], length: 5, min_length: 6}",
         "x.yaml:5:53: streams.x.stages[0].chunk.min_length: 6 is more than the 5 elements of a "
         "window: lower `min_length`"},
        {"- chunk: {fields: [a], length: 5}", "x.yaml:5:25: streams.x.stages[0].chunk.fields: "
                                              "\"a\" is one number, not a list of numbers"},
        {"- chunk: {fields: [t], length: 5}",
         "x.yaml:5:25: streams.x.stages[0].chunk.fields: \"t\" is text, not a list of numbers"},
        {"- chunk: {fields: [x, x], length: 5}",
         "x.yaml:5:25: streams.x.stages[0].chunk.fields: \"x\" occurs twice"},
        {"- pad: {input: x, length: 2, value: 0}\n- chunk: {fields: [x], length: 5}",
         "x.yaml:6:25: streams.x.stages[1].chunk.fields: \"x\" is already padded: put `chunk` "
         "before `pad` or `pack`"},
        {"- chunk: {fields: [x], length: 5}\n- chunk: {fields: [y], length: 5}",
         "x.yaml:6:9: streams.x.stages[1].chunk: a stream can have only one `chunk`"},
        {"- chunk: {fields: [x], length: 5}\n- cast: {input: x, dtype: int32}",
         "x.yaml:6:23: streams.x.stages[1].cast.input: \"x\" exists only in batches, after `chunk` "
         "or `pack`: put `cast` before that stage"},
        {"- chunk: {fields: [x], length: 5}\n- filter: {input: x, min_length: 2}",
         "x.yaml:6:25: streams.x.stages[1].filter.input: \"x\" exists only in batches, after "
         "`chunk` or `pack`: put `filter` before that stage"},
        {"- chunk: {fields: [x], length: 5}\n- pad: {input: x, length: 4, value: 0}",
         "x.yaml:6:33: streams.x.stages[1].pad.length: 4 is less than the 5 elements that a row of "
         "\"x\" may have: raise `length`"},
        {"- chunk: {fields: [x], length: 5}\n- dedup",
         "x.yaml:6:9: streams.x.stages[1].dedup: compares whole records: put it before `chunk`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1, \"x\": [1], \"y\": [1], \"t\": \"\"}\n", cases[i].stages,
                      cases[i].error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),      cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_bounds),       cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
