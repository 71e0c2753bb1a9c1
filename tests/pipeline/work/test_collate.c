/* test_collate.c: pipeline/work/collate.c: every dtype and shape in a slot, against the rows that
 * `leatctl head` prints; the layout of slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/scalar.h"
#include "tests/pipeline/shared_stream.h"
#include "tests/proto/shared_random.h"

static const char *const dtypes[] = {"bool",  "uint8",   "uint16",   "int32",
                                     "int64", "float16", "bfloat16", "float32"};
#define N_DTYPES 8

#define N_ROWS 57

static int64_t value_of(size_t dtype, size_t row, size_t k) {
    return dtype == 0 ? (int64_t)((row + k) % 2) : (int64_t)((row * 7 + k * 3) % 120);
}

static size_t length_of(size_t row) {
    return row * 5 % 9;
}

static void write_lists(void) {
    struct leat_text text = {.data = NULL};

    for (size_t row = 0; row < N_ROWS; row++) {
        leat_text_add(&text, "{");
        for (size_t i = 0; i < N_DTYPES; i++) {
            leat_text_add(&text, "%s\"s%zu\": %lld, \"l%zu\": [", i ? ", " : "", i,
                          (long long)value_of(i, row, 0), i);
            for (size_t k = 0; k < length_of(row); k++)
                leat_text_add(&text, "%s%lld", k ? ", " : "", (long long)value_of(i, row, k));
            leat_text_add(&text, "]");
        }
        leat_text_add(&text, "}\n");
    }
    folder_write("all.jsonl", text.data, text.n_bytes);
    free(text.data);
}

static void check_list(const struct leat_output *output, size_t i, size_t first_row) {
    char name[8];
    const struct leat_slot_tensor *tensor;
    enum leat_dtype dtype = leat_dtype_parse(dtypes[i]);
    const void *values;
    uint64_t n, width;
    bool is_left = i % 2;

    (void)snprintf(name, sizeof(name), "l%zu", i);
    tensor = batch_descriptor(output, name);
    values = batch_tensor(output, name, dtype, &n);
    assert_int_equal(tensor->ndim, 2);
    assert_int_equal(tensor->shape[0], output->n_rows);
    width = tensor->shape[1];
    for (size_t row = 0; row < output->n_rows; row++) {
        size_t length = length_of(first_row + row), start = is_left ? width - length : 0;

        for (size_t k = 0; k < width; k++) {
            bool is_padding = k < start || k >= start + length;
            int64_t expected = is_padding ? 1 : value_of(i, first_row + row, k - start);

            assert_true(leat_scalar_double(values, dtype, row * width + k) == (double)expected);
        }
    }
}

static void check_batch(const struct leat_output *output, void *user) {
    size_t *n_rows = user;
    const struct leat_slot_header *header = output->slot.memory;
    const struct leat_slot_tensor *tensors = (const struct leat_slot_tensor *)(header + 1);
    const uint8_t *memory = output->slot.memory;

    for (size_t i = 0; i < N_DTYPES; i++) {
        char name[8];
        const struct leat_slot_tensor *tensor;
        enum leat_dtype dtype = leat_dtype_parse(dtypes[i]);
        const void *values;
        uint64_t n;

        (void)snprintf(name, sizeof(name), "s%zu", i);
        tensor = batch_descriptor(output, name);
        values = batch_tensor(output, name, dtype, &n);
        assert_int_equal(n, output->n_rows);
        assert_int_equal(tensor->ndim, 1);
        for (size_t row = 0; row < n; row++)
            assert_true(leat_scalar_double(values, dtype, row) ==
                        (double)value_of(i, *n_rows + row, 0));
        check_list(output, i, *n_rows);
    }
    for (size_t i = 0; i < header->n_tensors; i++) { /* what lies between tensors is zero */
        uint64_t end = tensors[i].offset + tensors[i].size_bytes;

        assert_int_equal(tensors[i].offset % LEAT_SLOT_ALIGN, 0);
        for (uint64_t k = end; k < leat_slot_align(end); k++)
            assert_int_equal(memory[k], 0);
    }
    *n_rows += output->n_rows;
}

static void test_all_dtypes(void **state) {
    struct leat_text stages = {.data = NULL};

    (void)state;
    write_lists();
    for (size_t i = 0; i < N_DTYPES; i++)
        leat_text_add(&stages,
                      "- cast: {input: s%zu, dtype: %s}\n- cast: {input: l%zu, dtype: %s}\n"
                      "- pad: {input: l%zu, %s, value: 1, side: %s}\n",
                      i, dtypes[i], i, dtypes[i], i, i % 3 ? "longest: true" : "length: 9",
                      i % 2 ? "left" : "right");
    for (size_t batch_size = 1; batch_size < 70; batch_size += 17) {
        size_t n_rows = 0;
        struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_batch, .user = &n_rows};
        struct leat_text all = {.data = NULL};
        struct driven driven;

        leat_text_add(&all, "%s- batch: {batch_size: %zu}", stages.data, batch_size);
        driven = drive_stream("jsonl: {paths: [all.jsonl]}", "", all.data, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(n_rows, N_ROWS);
        free(all.data);
    }
    free(stages.data);
}

static void count_dims(const struct leat_output *output, void *user) {
    const struct leat_slot_tensor *a = batch_descriptor(output, "a");
    const struct leat_slot_tensor *x = batch_descriptor(output, "x");

    assert_int_equal(a->ndim, 0);
    assert_int_equal(a->size_bytes, 8);
    assert_int_equal(x->ndim, 1);
    assert_int_equal(x->shape[0], *(uint64_t *)user);
    (*(uint64_t *)user)++;
}

struct widened {
    enum leat_dtype dtype;
    const int64_t *values;
};

#define N_WIDENED 40 /* more than registers hold, with a rest */

static void check_labels(const struct leat_output *output, void *user) {
    const struct widened *widened = user;
    uint64_t n_ids, n_labels;
    const void *ids = batch_tensor(output, "x", widened->dtype, &n_ids);
    const int64_t *labels = batch_tensor(output, "y", LEAT_DTYPE_INT64, &n_labels);

    assert_int_equal(n_ids, N_WIDENED + 3);
    assert_int_equal(n_labels, n_ids);
    assert_true(labels[0] == -100);
    for (size_t i = 0; i < N_WIDENED; i++) {
        assert_true(leat_scalar_int(ids, widened->dtype, i) == widened->values[i]);
        assert_true(i == 0 || labels[i] == widened->values[i]);
    }
    for (size_t i = N_WIDENED; i < n_labels; i++)
        assert_true(labels[i] == -100);
}

/* Labels of packed integers are int64, and have their sign. */
static void test_widened_labels(void **state) {
    static const struct {
        const char *dtype;
        int64_t min, max;
    } cases[] = {{"bool", 0, 1},
                 {"uint8", 0, UINT8_MAX},
                 {"uint16", 0, UINT16_MAX},
                 {"int8", INT8_MIN, INT8_MAX},
                 {"int16", INT16_MIN, INT16_MAX},
                 {"int32", INT32_MIN, INT32_MAX}};

    (void)state;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        int64_t values[N_WIDENED];
        struct widened widened = {leat_dtype_parse(cases[c].dtype), values};
        struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_labels, .user = &widened};
        struct leat_text text = {.data = NULL}, stages = {.data = NULL};
        struct driven driven;

        leat_text_add(&text, "{\"x\": [");
        for (size_t i = 0; i < N_WIDENED; i++) {
            values[i] = i % 3 == 0 ? cases[c].min : i % 3 == 1 ? cases[c].max : (int64_t)(i % 2);
            leat_text_add(&text, "%s%lld", i ? ", " : "", (long long)values[i]);
        }
        leat_text_add(&text, "]}\n");
        folder_write("wide.jsonl", text.data, text.n_bytes);
        leat_text_add(&stages,
                      "- cast: {input: x, dtype: %s}\n"
                      "- pack: {fields: [x], length: %d, value: 0, labels: y}\n"
                      "- batch: {batch_size: 1}",
                      cases[c].dtype, N_WIDENED + 3);
        driven = drive_stream("jsonl: {paths: [wide.jsonl]}", "", stages.data, &how);
        assert_string_equal(driven.error.message, "");
        free(text.data);
        free(stages.data);
    }
}

/* A hash of the batches of each epoch. */
static void hash_batch(const struct leat_output *output, void *user) {
    const struct leat_slot_header *header = output->slot.memory;
    const uint64_t *words = (const uint64_t *)(header + 1);
    uint64_t *hash = (uint64_t *)user + header->epoch;

    assert_int_equal(sizeof(*header) % 8 + header->used_bytes % 8, 0);
    for (size_t i = 0; i < (header->used_bytes - sizeof(*header)) / 8; i++)
        *hash = (*hash ^ words[i]) * UINT64_C(0x100000001b3);
}

/* Lists out of a cache are packed until they are collated; those of the first epoch are not. */
static void test_packed(void **state) {
    static const char *const stages[] = {
        "- pad: {input: x, longest: true, value: 7}\n- batch: {batch_size: 3}",
        "- pad: {input: x, length: 40001, value: 7, side: left}\n- batch: {batch_size: 60}",
        "- pack: {fields: [x], length: 1001, split: true, value: 0, labels: y}\n"
        "- batch: {batch_size: 2}",
        "- pack: {fields: [x], length: 40001, split: true, value: 0, labels: y}\n"
        "- batch: {batch_size: 60, drop_last: false}",
    };
    static const int64_t ranges[] = {200, 60000, 100000, 1 << 30};

    (void)state;
    for (size_t c = 0; c < 16; c++) {
        uint64_t hashes[2] = {0}, random = c + 1;
        struct drive how = {.options = {.n_epochs = 2}, .on_batch = hash_batch, .user = hashes};
        struct leat_text text = {.data = NULL};
        int64_t range = ranges[c % 4];
        struct driven driven;

        for (size_t row = 0; row < 70; row++) {
            size_t n = row % 7 == 0 ? 40001 : (size_t)random_below(&random, 3000);

            leat_text_add(&text, "{\"x\": [");
            for (size_t k = 0; k < n; k++)
                leat_text_add(&text, "%s%lld", k ? "," : "",
                              (long long)random_below(&random, (uint64_t)range) - range / 2);
            leat_text_add(&text, "]}\n");
        }
        folder_write("packed.jsonl", text.data, text.n_bytes);
        driven = drive_stream("jsonl: {paths: [packed.jsonl], fields: {x: list<int32>}}",
                              "cache: {path: .}", stages[c / 4], &how);
        assert_string_equal(driven.error.message, "");
        assert_true(driven.n_cached > 0);
        assert_true(hashes[0] == hashes[1] && hashes[0] != 0);
        free(text.data);
    }
}

/* Without `batch` a record is a batch, and its tensors have no dimension for rows. */
static void test_without_batch(void **state) {
    uint64_t length = 0;
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = count_dims, .user = &length};

    (void)state;
    folder_print("in.jsonl", "{\"a\": 1, \"x\": []}\n{\"a\": 2, \"x\": [5]}\n"
                             "{\"a\": 3, \"x\": [6, 7]}\n");
    assert_string_equal(
        drive_stream("jsonl: {paths: [in.jsonl]}", "", "- take: {count: 3}", &how).error.message,
        "");
    assert_int_equal(length, 3);
}

static void test_elements_are_counted(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven driven;

    (void)state;
    folder_print("in.jsonl", "{\"x\": [1, 2]}\n{\"x\": [3]}\n");
    driven = drive_stream("jsonl: {paths: [in.jsonl]}", "",
                          "- pad: {input: x, length: 5, value: 0, mask: m}\n"
                          "- batch: {batch_size: 2}",
                          &how);
    assert_int_equal(driven.stats.counts.figures.n_elements, 6); /* neither padding nor masks */
    assert_int_equal(driven.stats.counts.figures.n_batches, 2);
    assert_int_equal(driven.stats.counts.figures.n_rows, 4);
    driven = drive_stream("jsonl: {paths: [in.jsonl]}", "",
                          "- pack: {fields: [x], length: 5, value: 0, labels: y}\n"
                          "- batch: {batch_size: 1}",
                          &how);
    assert_int_equal(driven.stats.counts.figures.n_elements, 6); /* nor labels */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_dtypes),
        cmocka_unit_test(test_widened_labels),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_without_batch),
        cmocka_unit_test(test_elements_are_counted),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
