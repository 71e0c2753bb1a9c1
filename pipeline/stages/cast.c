/* cast.c: casts texts and numbers to the dtype of a tensor.
 *
 * Texts are parsed as a whole; what does not parse or fit is a bad record. An empty text takes
 * `default`, if there is one. With `map`, a text stands for the value of its key; a missing key
 * takes `default`, or is a bad record. With `exact`, a whole number that a float would round is a
 * bad record, too: it may be an id.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_numbers.h"
#include "pipeline/stages/shared_text_index.h"
#include "proto/base/scalar.h"

struct cast {
    struct leat_config base;
    struct leat_numbers numbers; /* input, output, dtype */
    const char *fallback;
    struct leat_text_map map;
    bool exact;

    uint64_t fallback_bits; /* one element */
    uint64_t *map_bits;     /* [map.n_items] */
    struct leat_text_index keys;
};

static const struct leat_arg args[] = {
    LEAT_ARG_NAMED("input", cast, numbers.input, FIELD, "field to cast", .is_positional = true,
                   .is_required = true),
    LEAT_ARG_NAMED("output", cast, numbers.output, FIELD,
                   "name of the result; default: the name of the input", .is_positional = true),
    LEAT_ARG_NAMED("dtype", cast, numbers.dtype, DTYPE, "dtype of the result", .is_required = true,
                   .choices = leat_numbers_dtypes),
    LEAT_ARG_NAMED("default", cast, fallback, TEXT,
                   "the value for an empty text; with `map`, also for a text that is not in the "
                   "map"),
    LEAT_ARG(cast, map, MAP, "the number for each text, such as {male: 0, female: 1}", .min = 1,
             .max = 1048576),
    LEAT_ARG(cast, exact, BOOL,
             "true: a record is bad if it has a whole number that a float dtype would "
             "round, such as 16777217 for float32",
             .fallback = "false"),
    LEAT_ARGS_END,
};

/* ---- elements ---- */

/* -EDOM: `exact` is set and the whole number was rounded. */
static int store_int(const struct cast *self, void *values, size_t index, int64_t value) {
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;

    if (self->exact && leat_scalar_rounds(dtype, value))
        return -EDOM;
    return leat_scalar_store_int(values, dtype, index, value);
}

/* The same. Numbers beyond 64 bits are measures, not counts or ids: only infinite results are
 * refused. */
static int store_double(const struct cast *self, void *values, size_t index, double value) {
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;
    int r = leat_scalar_store_double(values, dtype, index, value);
    double stored;

    if (r < 0 || !self->exact || leat_dtype_is_integer(dtype) || !isfinite(value))
        return r;
    stored = leat_scalar_double(values, dtype, index);
    if (!isfinite(stored))
        return -ERANGE;
    return fabs(value) < 0x1p63 && value == trunc(value) && stored != value ? -EDOM : 0;
}

/* Parses a text as an element of the dtype. 0, -EINVAL (not such a value), -ERANGE (does not fit),
 * -EDOM (would be rounded). */
static int parse_element(const struct cast *self, const char *text, size_t n, void *values,
                         size_t index) {
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;
    int64_t integer;
    double number;
    bool truth;
    int r;

    if (dtype == LEAT_DTYPE_BOOL && leat_parse_bool(text, n, &truth) == 0)
        return leat_scalar_store_int(values, dtype, index, truth);
    if (leat_dtype_is_integer(dtype) || self->exact) {
        r = leat_parse_int(text, n, &integer);
        if (r == 0)
            return store_int(self, values, index, integer);
        if (leat_dtype_is_integer(dtype))
            return r;
    }
    r = leat_parse_float(text, n, &number);
    return r < 0 ? r : store_double(self, values, index, number);
}

static int parse_constant(const struct leat_config *config, const char *arg, const char *text,
                          uint64_t *ret_bits, struct leat_error *err) {
    const struct cast *self = (const struct cast *)config;

    *ret_bits = 0;
    if (parse_element(self, text, strlen(text), ret_bits, 0) < 0)
        return leat_config_error(config, arg, err, "\"%.64s\" is not a value of type %s", text,
                                 leat_dtype_name((enum leat_dtype)self->numbers.dtype));
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct cast *self = (struct cast *)config;
    int r = 0;

    if (self->fallback)
        r = parse_constant(config, "default", self->fallback, &self->fallback_bits, err);
    if (r < 0 || self->map.n_items == 0)
        return r;
    self->map_bits = calloc(self->map.n_items, sizeof(*self->map_bits));
    if (!self->map_bits || leat_text_index_init(&self->keys, self->map.keys, self->map.n_items) < 0)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < self->map.n_items; i++)
        r = parse_constant(config, "map", self->map.values[i], &self->map_bits[i], err);
    return r;
}

static void unload(struct leat_config *config) {
    struct cast *self = (struct cast *)config;

    free(self->map_bits);
    leat_text_index_deinit(&self->keys);
}

/* A padded list stays padded with its value, if the new dtype has it. */
static int plan_padding(const struct leat_config *config, const struct leat_field *from,
                        struct leat_field *to, struct leat_error *err) {
    const char *dtype = leat_dtype_name(to->dtype);
    uint64_t element;

    to->max_length = from->max_length;
    to->width = from->width;
    to->is_padded = from->is_padded;
    to->has_pad_value = from->has_pad_value;
    to->pad_value = from->pad_value;
    to->is_annotation = from->is_annotation;
    to->is_labels = from->is_labels;
    to->tokenizer = from->tokenizer;
    to->pad_length = from->pad_length;
    to->pad_multiple = from->pad_multiple;
    to->pad_left = from->pad_left;
    if (from->is_padded && leat_scalar_store_double(&element, to->dtype, 0, from->pad_value) < 0)
        return leat_config_error(config, "dtype", err,
                                 "the padding of the field is %g, which is not a value of type %s",
                                 from->pad_value, dtype);
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct cast *self = (struct cast *)config;
    const struct leat_field *from;
    struct leat_field *to;
    bool is_list;
    int r =
        leat_planner_find(planner, config, "input", self->numbers.input, &self->numbers.from, err);

    if (r < 0)
        return r;
    from = leat_planner_field(planner, self->numbers.from);
    is_list = from->is_list && from->dtype != LEAT_DTYPE_TEXT;
    if (self->map.n_items > 0 && from->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "map", err, "\"%s\" is not text", self->numbers.input);
    r = leat_planner_add_result(planner, config, self->numbers.input, self->numbers.output,
                                (enum leat_dtype)self->numbers.dtype, is_list, &self->numbers.to,
                                &to, err);
    return r < 0 || !is_list ? r : plan_padding(config, from, to, err);
}

static int look_up(const struct cast *self, const char *text, size_t n, void *values,
                   uint32_t row) {
    size_t size = leat_dtype_size((enum leat_dtype)self->numbers.dtype);
    const uint64_t *bits = self->fallback ? &self->fallback_bits : NULL;
    ptrdiff_t item = leat_text_index_find(&self->keys, text, n);

    if (item >= 0)
        bits = &self->map_bits[item];
    if (!bits)
        return -ENOENT;
    memcpy((char *)values + row * size, bits, size);
    return 0;
}

/* As parse_element(), for an integer dtype but BOOL. */
static int parse_integer(enum leat_dtype dtype, const char *text, size_t n, void *values,
                         uint32_t row) {
    int64_t integer;
    int r = leat_parse_int(text, n, &integer);

    return r < 0 ? r : leat_scalar_store_int(values, dtype, row, integer);
}

static void reject_text(const struct cast *self, struct leat_map *map, uint32_t row,
                        const char *text, size_t n, int reason) {
    const char *dtype = leat_dtype_name((enum leat_dtype)self->numbers.dtype);
    int shown = n > 64 ? 64 : (int)n;

    if (n == 0)
        leat_map_reject(map, row, self->numbers.input, "is empty: give `default` to cast it to %s",
                        dtype);
    else if (reason == -ENOENT)
        leat_map_reject(map, row, self->numbers.input,
                        "\"%.*s\" is not in the map: add it there, or give `default`", shown, text);
    else if (reason == -ERANGE)
        leat_map_reject(map, row, self->numbers.input, "%.*s does not fit %s", shown, text, dtype);
    else if (reason == -EDOM)
        leat_map_reject(map, row, self->numbers.input, "%s would round %.*s", dtype, shown, text);
    else
        leat_map_reject(map, row, self->numbers.input, "\"%.*s\" is not a value of type %s", shown,
                        text, dtype);
}

static int map_text(const struct cast *self, struct leat_map *map) {
    const struct leat_column *from = leat_map_column(map, self->numbers.from);
    enum leat_dtype dtype = (enum leat_dtype)self->numbers.dtype;
    bool is_integer = leat_dtype_is_integer(dtype) && dtype != LEAT_DTYPE_BOOL;
    bool has_map = self->map.n_items > 0;
    size_t size = leat_dtype_size(dtype);
    void *values;

    if (leat_map_make_scalar(map, self->numbers.to, size) < 0)
        return -ENOMEM;
    values = leat_map_column(map, self->numbers.to)->values;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        const char *text = (const char *)from->values + from->starts[row];
        size_t n = from->lengths[row];
        int r = n == 0 || has_map ? look_up(self, text, n, values, row)
                : is_integer      ? parse_integer(dtype, text, n, values, row)
                                  : parse_element(self, text, n, values, row);

        if (r < 0) {
            memset((char *)values + row * size, 0, size);
            reject_text(self, map, row, text, n, r);
        }
    }
    return 0;
}

/* Casts one number to element `to_index` of the result. */
static void cast_number(const struct cast *self, struct leat_map *map, uint32_t row,
                        const void *from, size_t from_index, void *to, size_t to_index) {
    enum leat_dtype dtype = map->fields[self->numbers.from].dtype;
    int r = leat_dtype_is_integer(dtype)
                ? store_int(self, to, to_index, leat_scalar_int(from, dtype, from_index))
                : store_double(self, to, to_index, leat_scalar_double(from, dtype, from_index));

    if (r < 0) {
        const char *name = self->numbers.input;
        const char *to_dtype = leat_dtype_name((enum leat_dtype)self->numbers.dtype);
        char text[LEAT_SCALAR_TEXT_MAX];

        (void)leat_scalar_print(from, dtype, from_index, text);
        if (r == -ERANGE)
            leat_map_reject(map, row, name, "%s does not fit %s", text, to_dtype);
        else if (r == -EDOM)
            leat_map_reject(map, row, name, "%s would round %s", to_dtype, text);
        else
            leat_map_reject(map, row, name, "%s is not a whole number, but %s needs one", text,
                            to_dtype);
    }
}

static int map_list(const struct cast *self, struct leat_map *map, struct leat_error *err) {
    const struct leat_column *from = leat_map_column(map, self->numbers.from);
    const struct leat_column *to = leat_map_column(map, self->numbers.to);
    uint32_t at = 0;
    int r = leat_numbers_make_lists(map, self->numbers.to,
                                    leat_map_n_items(map, self->numbers.from), err);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        to->starts[row] = at;
        to->lengths[row] = from->lengths[row];
        for (uint32_t i = 0; i < from->lengths[row]; i++)
            cast_number(self, map, row, from->values, from->starts[row] + i, to->values, at++);
    }
    return r;
}

static int map_scalar(const struct cast *self, struct leat_map *map) {
    const struct leat_column *from = leat_map_column(map, self->numbers.from);
    const struct leat_column *to = leat_map_column(map, self->numbers.to);
    size_t size = leat_dtype_size((enum leat_dtype)self->numbers.dtype);

    if (leat_map_make_scalar(map, self->numbers.to, size) < 0)
        return -ENOMEM;
    for (uint32_t row = 0; row < map->block->n_rows; row++)
        cast_number(self, map, row, from->values, row, to->values, row);
    return 0;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct cast *self = (const struct cast *)config;
    const struct leat_field *from = &map->fields[self->numbers.from];
    int r;

    if (from->dtype != LEAT_DTYPE_TEXT && from->is_list)
        return map_list(self, map, err);
    r = from->dtype == LEAT_DTYPE_TEXT ? map_text(self, map) : map_scalar(self, map);
    return r < 0 ? leat_error_oom(err) : 0;
}

const struct leat_stage_ops leat_stage_cast = {
    LEAT_STAGE_BASE("cast", cast, MAP),
    .summary = "converts texts and numbers to a dtype",
    .example = "{ input: Survived, output: labels, dtype: int64 }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
