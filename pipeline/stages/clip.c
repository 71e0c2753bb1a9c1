/* clip.c: numbers into a range, as numpy.clip. Whole numbers that stay whole are compared as such,
 * since a double does not hold all of int64. */
#include <math.h>

#include "pipeline/stages/shared_numbers.h"
#include "proto/base/scalar.h"

struct clip {
    struct leat_config base;
    struct leat_numbers numbers;
    double min, max;

    bool is_whole;          /* both input and result */
    int64_t least, largest; /* if is_whole */
};

static const struct leat_arg args[] = {
    LEAT_NUMBERS_FIELD_ARGS(clip, numbers),
    LEAT_ARG(clip, min, FLOAT,
             "the minimum, which replaces all lower values; for whole numbers, leat "
             "rounds the minimum up",
             .fallback = "-inf"),
    LEAT_ARG(clip, max, FLOAT,
             "the maximum, which replaces all higher values; for whole numbers, leat "
             "rounds the maximum down",
             .fallback = "inf"),
    LEAT_NUMBERS_DTYPE_ARG(clip, numbers, leat_numbers_dtypes, NULL,
                           "dtype of the result; default: the dtype of the input"),
    LEAT_NUMBERS_NAN_ARGS(clip, numbers, "keep"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct clip *self = (const struct clip *)config;

    if (!leat_config_given(config, "min") && !leat_config_given(config, "max"))
        return leat_config_error(config, NULL, err, "clips nothing: set `min`, `max` or both");
    if (isnan(self->min) || isnan(self->max))
        return leat_config_error(config, isnan(self->min) ? "min" : "max", err,
                                 "must not be NaN: give a number");
    if (self->min > self->max)
        return leat_config_error(config, "max", err, "%g is less than `min` (%g)", self->max,
                                 self->min);
    return leat_numbers_check(config, &self->numbers, err);
}

/* The nearest int64 of a whole double. */
static int64_t to_int(double x) {
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* Whole numbers are clipped to ceil(min)..floor(max), which must hold one. */
static int plan_whole(struct clip *self, struct leat_error *err) {
    if (ceil(self->min) > floor(self->max) || self->min >= 0x1p63 || self->max < -0x1p63)
        return leat_config_error(
            &self->base, NULL, err,
            "no whole number lies between %g and %g: set `dtype` to a float type", self->min,
            self->max);
    self->least = to_int(ceil(self->min));
    self->largest = to_int(floor(self->max));
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct clip *self = (struct clip *)config;
    int r = leat_numbers_plan(config, &self->numbers, planner, err);

    if (r < 0)
        return r;
    self->is_whole = leat_dtype_is_integer((enum leat_dtype)self->numbers.dtype) &&
                     leat_dtype_is_integer(leat_planner_field(planner, self->numbers.from)->dtype);
    return self->is_whole ? plan_whole(self, err) : 0;
}

static void put_whole(const struct clip *self, struct leat_map *map, uint32_t row, size_t from,
                      size_t to) {
    const struct leat_numbers *numbers = &self->numbers;
    int64_t x = leat_scalar_int(leat_map_column(map, numbers->from)->values,
                                map->fields[numbers->from].dtype, from);
    int64_t y = x < self->least ? self->least : x > self->largest ? self->largest : x;

    leat_numbers_put_int(numbers, map, row, to, y);
}

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct clip *self = (const struct clip *)config;
    double x, y;

    if (self->is_whole) {
        put_whole(self, map, row, from, to);
        return;
    }
    x = leat_numbers_get(&self->numbers, map, from);
    y = x < self->min ? self->min : x > self->max ? self->max : x;
    leat_numbers_put(&self->numbers, map, row, to, x, y);
}

const struct leat_stage_ops leat_stage_clip = {
    LEAT_STAGE_BASE("clip", clip, MAP),
    .summary = "limits numbers to a range",
    .example = "{ input: Age, min: 0, max: 100 }",
    .check = check,
    .plan = plan,
    .map = leat_numbers_config_map,
    .put = put,
};
