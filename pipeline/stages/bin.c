/* bin.c: the number of the bin that a number lies in, as numpy.digitize: 0 before the first edge,
 * as many as there are edges behind the last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_numbers.h"
#include "proto/base/scalar.h"

struct bin {
    struct leat_config base;
    struct leat_numbers numbers;
    struct leat_texts edges;
    bool right;

    double *values; /* [edges.n_items] */
};

static const struct leat_arg args[] = {
    LEAT_NUMBERS_FIELD_ARGS(bin, numbers),
    LEAT_ARG(bin, edges, TEXTS, "the edges between bins: numbers in increasing order",
             .is_required = true, .min = 1, .max = 65535),
    LEAT_ARG(bin, right, BOOL,
             "true: a value on an edge belongs to the bin before the edge; false: it "
             "belongs to the bin after the edge",
             .fallback = "false"),
    LEAT_NUMBERS_DTYPE_ARG(bin, numbers, leat_numbers_integers, "int32", "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(bin, numbers, "fail"),
    LEAT_ARGS_END,
};

static int parse_edges(struct bin *self, struct leat_error *err) {
    for (size_t i = 0; i < self->edges.n_items; i++) {
        const char *text = self->edges.items[i];

        if (leat_parse_float(text, strlen(text), &self->values[i]) < 0 || isnan(self->values[i]))
            return leat_config_error(&self->base, "edges", err, "\"%.64s\" is not a number", text);
        if (i > 0 && self->values[i] <= self->values[i - 1])
            return leat_config_error(&self->base, "edges", err,
                                     "%.64s follows %.64s, but the edges must increase", text,
                                     self->edges.items[i - 1]);
    }
    return 0;
}

static int check_dtype(const struct bin *self, struct leat_error *err) {
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;
    int64_t n_edges = (int64_t)self->edges.n_items, element;

    if (leat_scalar_store_int(&element, dtype, 0, n_edges) < 0)
        return leat_config_error(&self->base, "dtype", err,
                                 "bin numbers up to %lld do not fit %s: give a larger dtype",
                                 (long long)n_edges, leat_dtype_name(dtype));
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct bin *self = (struct bin *)config;
    int r = leat_numbers_check(config, &self->numbers, err);

    if (r < 0)
        return r;
    self->values = calloc(self->edges.n_items, sizeof(*self->values));
    if (!self->values)
        return leat_error_oom(err);
    r = parse_edges(self, err);
    return r < 0 ? r : check_dtype(self, err);
}

static void unload(struct leat_config *config) {
    free(((struct bin *)config)->values);
}

/* Returns the number of edges at most x (right: less than x). NaN is behind all of them. */
static size_t find(const struct bin *self, double x) {
    size_t first = 0, n = self->edges.n_items;

    while (n > 0) {
        size_t half = n / 2;
        double edge = self->values[first + half];

        if (isnan(x) || edge < x || (edge == x && !self->right)) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct bin *self = (const struct bin *)config;
    double x = leat_numbers_get(&self->numbers, map, from);

    leat_numbers_put(&self->numbers, map, row, to, x, (double)find(self, x));
}

const struct leat_stage_ops leat_stage_bin = {
    LEAT_STAGE_BASE("bin", bin, MAP),
    .summary = "replaces a number with the index of its bin",
    .example = "{ input: Age, output: age_group, edges: [18, 40, 65] }",
    .check = check,
    .unload = unload,
    .plan = leat_numbers_config_plan,
    .map = leat_numbers_config_map,
    .put = put,
};
