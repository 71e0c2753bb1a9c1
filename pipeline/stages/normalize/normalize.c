/* normalize.c: (x - mean) / std, with these two given or read from a file of statistics. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/normalize/normalize.h"
#include "pipeline/stages/shared_numbers.h"
#include "pipeline/tokenizer/json.h"

#define STD_MIN 1e-300
#define STD_MAX 1e300

struct normalize {
    struct leat_config base;
    struct leat_numbers numbers;
    double mean, std;
    const char *stats;
};

static const struct leat_arg args[] = {
    LEAT_NUMBERS_FIELD_ARGS(normalize, numbers),
    LEAT_ARG(normalize, mean, FLOAT, "the mean, which leat subtracts from each number",
             .fallback = "0"),
    LEAT_ARG(normalize, std, FLOAT,
             "the standard deviation, by which leat then divides each number", .fallback = "1",
             .min = STD_MIN, .max = STD_MAX),
    LEAT_ARG(normalize, stats, PATH,
             "a file with the output of `leatctl describe --json`; leat reads the `mean` and `std` "
             "of the input from this file"),
    LEAT_NUMBERS_DTYPE_ARG(normalize, numbers, leat_numbers_floats, "float32",
                           "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(normalize, numbers, "keep"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct normalize *self = (const struct normalize *)config;

    if (!isfinite(self->mean))
        return leat_config_error(config, "mean", err, "%g is not finite: give a number",
                                 self->mean);
    for (int i = 0; self->stats && i < 2; i++)
        if (leat_config_given(config, i ? "std" : "mean"))
            return leat_config_error(config, i ? "std" : "mean", err,
                                     "`stats` already gives this value: remove one of the two");
    return leat_numbers_check(config, &self->numbers, err);
}

static int set_stats(struct normalize *self, const char *path, const char *data, size_t n_bytes,
                     struct leat_error *err) {
    struct leat_normalization stats;
    int r = leat_normalization_read(data, n_bytes, self->numbers.input, path, &stats, err);

    if (r < 0)
        return r;
    if (!isfinite(stats.mean) || !(stats.std >= STD_MIN && stats.std <= STD_MAX))
        return leat_error_set(
            err, -EINVAL,
            "%s: column \"%s\" has mean %g and std %g: leat cannot normalize with these values",
            path, self->numbers.input, stats.mean, stats.std);
    self->mean = stats.mean;
    self->std = stats.std;
    return 0;
}

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct normalize *self = (struct normalize *)config;
    char *path, *data;
    size_t n_bytes;
    int r;

    if (!self->stats)
        return 0;
    path = leat_config_path(config, self->stats);
    if (!path)
        return leat_error_oom(err);
    r = leat_opener_read(opener, path, LEAT_STATS_BYTES_MAX, &data, &n_bytes, err);
    if (r == 0) {
        r = set_stats(self, path, data, n_bytes, err);
        free(data);
    }
    free(path);
    if (r < 0)
        leat_config_place_error(config, "stats", err);
    return r;
}

static void digest(const struct leat_config *config, struct leat_blake2b *state) {
    const struct normalize *self = (const struct normalize *)config;

    leat_blake2b_update(state, &self->mean, sizeof(self->mean));
    leat_blake2b_update(state, &self->std, sizeof(self->std));
}

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct normalize *self = (const struct normalize *)config;
    double x = leat_numbers_get(&self->numbers, map, from);

    leat_numbers_put(&self->numbers, map, row, to, x, (x - self->mean) / self->std);
}

const struct leat_stage_ops leat_stage_normalize = {
    LEAT_STAGE_BASE("normalize", normalize, MAP),
    .summary = "replaces a number x with (x - mean) / std",
    .example = "{ input: Age, mean: 29.7, std: 14.5 }",
    .check = check,
    .load = load,
    .digest = digest,
    .plan = leat_numbers_config_plan,
    .map = leat_numbers_config_map,
    .put = put,
};

/* ---- statistics ---- */

static bool find(struct leat_json_node object, const char *key, struct leat_json_node *ret_node) {
    return leat_json_find(object, key, strlen(key), ret_node);
}

static int read_number(struct leat_json_node column, const char *name, const char *key,
                       const char *file, double *ret_number, struct leat_error *err) {
    struct leat_json_node node;
    enum leat_json_kind kind;

    if (!find(column, key, &node))
        return leat_error_set(err, -EINVAL,
                              "%s: columns.%s has no \"%s\": choose a column of numbers", file,
                              name, key);
    kind = leat_json_kind(node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_UINT && kind != LEAT_JSON_DOUBLE)
        return leat_error_set(err, -EINVAL, "%s: columns.%s.%s is %s, not a number", file, name,
                              key, leat_json_kind_name(kind));
    *ret_number = leat_json_double(node);
    return 0;
}

static int read_column(struct leat_json_node root, const char *name, const char *file,
                       struct leat_normalization *ret_stats, struct leat_error *err) {
    struct leat_json_node columns, column;
    int r;

    if (!find(root, "columns", &columns))
        return leat_error_set(
            err, -EINVAL, "%s: has no \"columns\": give the output of `leatctl describe --json`",
            file);
    if (!find(columns, name, &column))
        return leat_error_set(err, -EINVAL, "%s: has no column \"%s\"", file, name);
    r = read_number(column, name, "mean", file, &ret_stats->mean, err);
    return r < 0 ? r : read_number(column, name, "std", file, &ret_stats->std, err);
}

int leat_normalization_read(const char *data, size_t n_bytes, const char *column, const char *file,
                            struct leat_normalization *ret_stats, struct leat_error *err) {
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    if (leat_json_new(n_bytes, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, data, n_bytes, n_bytes, &root, err);
    if (r < 0)
        leat_error_locate(err, file, err->line, err->column);
    else
        r = read_column(root, column, file, ret_stats, err);
    leat_json_free(json);
    return r;
}
