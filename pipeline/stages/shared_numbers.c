#include "pipeline/stages/shared_numbers.h"

#include <errno.h>
#include <math.h>

#include "proto/base/scalar.h"

const char *const leat_numbers_nans[] = {"keep", "fail", "default", NULL};
const char *const leat_numbers_floats[] = {"float32", "float64", "float16", "bfloat16", NULL};
const char *const leat_numbers_integers[] = {"int32",  "int64", "int16", "int8",
                                             "uint16", "uint8", NULL};
const char *const leat_numbers_dtypes[] = {"float32", "float64", "float16", "bfloat16",
                                           "int32",   "int64",   "int16",   "int8",
                                           "uint16",  "uint8",   "bool",    NULL};

int leat_numbers_check(const struct leat_config *config, const struct leat_numbers *numbers,
                       struct leat_error *err) {
    bool is_given = leat_config_given(config, "default");

    if (numbers->nan == LEAT_NAN_DEFAULT && !is_given)
        return leat_config_error(config, "nan", err,
                                 "`nan: default` needs a number: set `default`, for example to 0");
    if (numbers->nan != LEAT_NAN_DEFAULT && is_given)
        return leat_config_error(config, "default", err, "works only with `nan: default`");
    if (isnan(numbers->fallback))
        return leat_config_error(config, "default", err,
                                 "must not be NaN: give a number, or set `nan: keep`");
    return 0;
}

int leat_numbers_check_field(const struct leat_config *config, const char *arg, const char *name,
                             const struct leat_field *field, struct leat_error *err) {
    if (field->dtype == LEAT_DTYPE_TEXT)
        return leat_config_error(config, arg, err, "\"%s\" is text: `cast` it to float32 first",
                                 name);
    if (field->is_padded)
        return leat_config_error(config, arg, err,
                                 "\"%s\" is already padded: put `%s` before `pad` or `pack`", name,
                                 config->ops->name);
    return 0;
}

int leat_numbers_check_default(const struct leat_config *config, const struct leat_numbers *numbers,
                               struct leat_error *err) {
    enum leat_dtype dtype = (enum leat_dtype)numbers->dtype;
    uint64_t element;

    if (numbers->nan == LEAT_NAN_DEFAULT &&
        leat_scalar_store_double(&element, dtype, 0, numbers->fallback) < 0)
        return leat_config_error(config, "default", err, "%g is not a value of type %s",
                                 numbers->fallback, leat_dtype_name(dtype));
    return 0;
}

int leat_numbers_plan(const struct leat_config *config, struct leat_numbers *numbers,
                      struct leat_planner *planner, struct leat_error *err) {
    const struct leat_field *from;
    struct leat_field *to;
    int r = leat_planner_find(planner, config, "input", numbers->input, &numbers->from, err);

    if (r < 0)
        return r;
    from = leat_planner_field(planner, numbers->from);
    r = leat_numbers_check_field(config, "input", numbers->input, from, err);
    if (r < 0)
        return r;
    if (numbers->dtype == LEAT_DTYPE_NONE)
        numbers->dtype = (int)from->dtype;
    r = leat_numbers_check_default(config, numbers, err);
    if (r < 0)
        return r;
    r = leat_planner_add_result(planner, config, numbers->input, numbers->output,
                                (enum leat_dtype)numbers->dtype, from->is_list, &numbers->to, &to,
                                err);
    if (r < 0)
        return r;
    to->max_length = from->max_length;
    to->width = from->width;
    return 0;
}

int leat_numbers_config_check(struct leat_config *config, struct leat_error *err) {
    return leat_numbers_check(config, &((struct leat_numbers_config *)config)->numbers, err);
}

int leat_numbers_config_plan(struct leat_config *config, struct leat_planner *planner,
                             struct leat_error *err) {
    return leat_numbers_plan(config, &((struct leat_numbers_config *)config)->numbers, planner,
                             err);
}

int leat_numbers_make_lists(struct leat_map *map, uint32_t column, size_t n_values,
                            struct leat_error *err) {
    size_t n_bytes = n_values * leat_dtype_size(map->fields[column].dtype);
    struct leat_column *to = leat_map_column(map, column);

    if (n_values > LEAT_NUMBERS_MAX)
        return leat_error_set(err, -EOVERFLOW,
                              "\"%s\" would have %zu numbers in one block; at most %u are "
                              "possible: lower block_bytes, or shorten the lists",
                              map->fields[column].name, n_values, LEAT_NUMBERS_MAX);
    to->values = leat_map_alloc(map, column, n_bytes);
    if (!to->values || leat_map_make_views(map, column) < 0)
        return leat_error_oom(err);
    map->n_bytes_out += n_bytes;
    return 0;
}

double leat_numbers_get(const struct leat_numbers *numbers, const struct leat_map *map,
                        size_t index) {
    return leat_scalar_double(leat_map_column(map, numbers->from)->values,
                              map->fields[numbers->from].dtype, index);
}

static void reject(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row, double x,
                   double y, int reason) {
    const char *name = numbers->input;
    const char *dtype = leat_dtype_name((enum leat_dtype)numbers->dtype);
    char text[LEAT_SCALAR_TEXT_MAX];

    (void)leat_scalar_print(isnan(y) ? &x : &y, LEAT_DTYPE_FLOAT64, 0, text);
    if (isnan(x))
        leat_map_reject(map, row, name, "is NaN: to replace it with a number, set `nan: default`");
    else if (isnan(y))
        leat_map_reject(map, row, name,
                        "%s becomes NaN: to replace it with a number, set `nan: default`", text);
    else if (reason == -ERANGE)
        leat_map_reject(map, row, name, "%s does not fit %s", text, dtype);
    else
        leat_map_reject(map, row, name, "%s is not a whole number, but %s needs one", text, dtype);
}

void leat_numbers_put(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                      size_t index, double x, double y) {
    bool is_nan = isnan(x) || isnan(y);
    int r;

    if (is_nan && numbers->nan == LEAT_NAN_DEFAULT) {
        y = numbers->fallback;
        is_nan = false;
    }
    r = leat_scalar_store_double(leat_map_column(map, numbers->to)->values,
                                 (enum leat_dtype)numbers->dtype, index, y);
    if (r < 0 || (is_nan && numbers->nan == LEAT_NAN_FAIL))
        reject(numbers, map, row, x, y, r);
}

void leat_numbers_put_int(const struct leat_numbers *numbers, struct leat_map *map, uint32_t row,
                          size_t index, int64_t y) {
    enum leat_dtype dtype = (enum leat_dtype)numbers->dtype;

    if (leat_scalar_store_int(leat_map_column(map, numbers->to)->values, dtype, index, y) < 0)
        leat_map_reject(map, row, numbers->input, "%lld does not fit %s", (long long)y,
                        leat_dtype_name(dtype));
}

static int map_scalars(const struct leat_config *config, const struct leat_numbers *numbers,
                       struct leat_map *map, struct leat_error *err) {
    size_t size = leat_dtype_size((enum leat_dtype)numbers->dtype);

    if (leat_map_make_scalar(map, numbers->to, size) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; row < map->block->n_rows; row++)
        config->ops->put(config, map, row, row, row);
    map->n_bytes_out += map->block->n_rows * size;
    return 0;
}

static int map_lists(const struct leat_config *config, const struct leat_numbers *numbers,
                     struct leat_map *map, struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, numbers->from);
    const struct leat_column *to = leat_map_column(map, numbers->to);
    uint32_t at = 0;
    int r = leat_numbers_make_lists(map, numbers->to, leat_map_n_items(map, numbers->from), err);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        to->starts[row] = at;
        to->lengths[row] = from->lengths[row];
        for (uint32_t i = 0; i < from->lengths[row]; i++)
            config->ops->put(config, map, row, from->starts[row] + i, at++);
    }
    return r;
}

int leat_numbers_config_map(const struct leat_config *config, struct leat_map *map,
                            struct leat_error *err) {
    const struct leat_numbers *numbers = &((const struct leat_numbers_config *)config)->numbers;

    return (map->fields[numbers->to].is_list ? map_lists : map_scalars)(config, numbers, map, err);
}
