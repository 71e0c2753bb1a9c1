/* shared_numpy.c: see shared_numpy.h. */
#include "tests/pipeline/shared_numpy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "proto/base/scalar.h"
#include "tests/pipeline/shared_stream.h"

#define VALUES_MAX 4096

/* What came of a case. */
struct result {
    enum leat_dtype dtype;
    uint64_t width;
    union {
        double number;
        int64_t whole;
    } values[VALUES_MAX];
    size_t n;
};

static struct leat_json_node get(struct leat_json_node object, const char *key) {
    struct leat_json_node node;

    assert_true(leat_json_find(object, key, strlen(key), &node));
    return node;
}

static const char *text_of(struct leat_json_node object, const char *key) {
    size_t n;

    return leat_json_string(get(object, key), &n);
}

static void on_batch(const struct leat_output *output, void *user) {
    struct result *result = user;
    const struct leat_slot_tensor *tensor = batch_descriptor(output, "x");
    uint64_t n;
    const void *values = batch_tensor(output, "x", result->dtype, &n);

    assert_int_equal(tensor->ndim, result->width ? 2 : 1);
    assert_int_equal(tensor->shape[0], output->n_rows);
    if (result->width)
        assert_int_equal(tensor->shape[1], result->width);
    assert_true(result->n + n <= VALUES_MAX);
    for (size_t i = 0; i < n; i++, result->n++)
        if (leat_dtype_is_integer(result->dtype))
            result->values[result->n].whole = leat_scalar_int(values, result->dtype, i);
        else
            result->values[result->n].number = leat_scalar_double(values, result->dtype, i);
}

static double number_of(struct leat_json_node node) {
    size_t n;

    return leat_json_kind(node) == LEAT_JSON_STRING ? strtod(leat_json_string(node, &n), NULL)
                                                    : leat_json_double(node);
}

/* The largest number of each row; ret_largest[n_values / width]. */
static void find_largest(struct leat_json_node values, uint64_t width, double *ret_largest) {
    struct leat_json_iterator iterator;
    struct leat_json_node node;

    leat_json_iterate(values, &iterator);
    for (size_t i = 0; leat_json_next(&iterator, &node); i++) {
        size_t row = i / (width ? width : 1);

        if (i % (width ? width : 1) == 0)
            ret_largest[row] = 0;
        ret_largest[row] = fmax(ret_largest[row], fabs(number_of(node)));
    }
}

static bool is_near(double found, double expected, double allowed) {
    return (isnan(found) && isnan(expected)) || found == expected ||
           fabs(found - expected) <= allowed;
}

static void compare(struct leat_json_node test, const struct result *result) {
    struct leat_json_node values = get(test, "values"), node;
    double tolerance = leat_json_double(get(test, "tolerance"));
    double *largest = calloc(leat_json_n_items(values) + 1, sizeof(*largest));
    struct leat_json_iterator iterator;

    assert_non_null(largest);
    assert_int_equal(result->n, leat_json_n_items(values));
    find_largest(values, result->width, largest);
    leat_json_iterate(values, &iterator);
    for (size_t i = 0; leat_json_next(&iterator, &node); i++) {
        double row = largest[i / (result->width ? result->width : 1)];

        if (leat_dtype_is_integer(result->dtype)) {
            assert_int_equal(result->values[i].whole, leat_json_int(node));
        } else if (!is_near(result->values[i].number, number_of(node), tolerance * row)) {
            fail_msg("%s\nof\n%s\nnumber %zu is %.17g, expected %.17g", text_of(test, "stages"),
                     text_of(test, "data"), i, result->values[i].number, number_of(node));
        }
    }
    free(largest);
}

static void check_case(struct leat_json_node test) {
    const char *data = text_of(test, "data");
    bool is_json = data[0] == '{';
    struct result *result = calloc(1, sizeof(*result));
    struct leat_text stages = {.data = NULL};
    struct driven driven;

    assert_non_null(result);
    result->dtype = leat_dtype_parse(text_of(test, "dtype"));
    result->width = (uint64_t)leat_json_int(get(test, "width"));
    folder_print(is_json ? "in.jsonl" : "in.csv", "%s", data);
    leat_text_add(&stages, "%s\n- select: {fields: [x]}\n- batch: {batch_size: 3}",
                  text_of(test, "stages"));
    driven = drive_stream(
        is_json ? "jsonl: {paths: [in.jsonl]}" : "csv: {paths: [in.csv]}", "", stages.data,
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = on_batch, .user = result});
    if (driven.error.code != 0)
        fail_msg("%s\n%s", stages.data, driven.error.message);
    compare(test, result);
    free(stages.data);
    free(result);
}

void check_numpy(const char *name) {
    FILE *file = fopen("pipeline/data/numbers.jsonl", "r");
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json *json;
    struct leat_json_node test;
    char *line = NULL;
    size_t capacity = 0, n_cases = 0;
    ssize_t n;

    assert_non_null(file);
    assert_int_equal(leat_json_new(0, &json), 0);
    while ((n = getline(&line, &capacity, file)) > 0) {
        assert_int_equal(leat_json_parse(json, line, (size_t)n, (size_t)n, &test, &err), 0);
        if (strcmp(text_of(test, "test"), name) != 0)
            continue;
        check_case(test);
        n_cases++;
    }
    assert_true(n_cases > 0);
    free(line);
    leat_json_free(json);
    assert_int_equal(fclose(file), 0);
}
