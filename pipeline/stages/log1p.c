/* log1p.c: log(1 + x), exact near 0: for counts and amounts of all sizes. As numpy.log1p: -1
 * becomes -inf, what is below becomes NaN. */
#include <math.h>

#include "pipeline/stages/shared_numbers.h"

struct log1p {
    struct leat_config base;
    struct leat_numbers numbers;
};

static const struct leat_arg args[] = {
    LEAT_NUMBERS_FIELD_ARGS(log1p, numbers),
    LEAT_NUMBERS_DTYPE_ARG(log1p, numbers, leat_numbers_floats, "float32", "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(log1p, numbers, "keep"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    return leat_numbers_check(config, &((struct log1p *)config)->numbers, err);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    return leat_numbers_plan(config, &((struct log1p *)config)->numbers, planner, err);
}

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct leat_numbers *numbers = &((const struct log1p *)config)->numbers;
    double x = leat_numbers_get(numbers, map, from);

    leat_numbers_put(numbers, map, row, to, x, log1p(x));
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    return leat_numbers_map(config, &((const struct log1p *)config)->numbers, map, put, err);
}

const struct leat_stage_ops leat_stage_log1p = {
    .name = "log1p",
    .summary = "log(1 + x)",
    .example = "{ input: Fare }",
    .kind = LEAT_STAGE_MAP,
    .args = args,
    .config_size = sizeof(struct log1p),
    .check = check,
    .plan = plan,
    .map = map_rows,
};
