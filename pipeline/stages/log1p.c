/* log1p.c: log(1 + x), exact near 0: for counts and amounts of all sizes. As numpy.log1p: -1
 * becomes -inf, what is below becomes NaN. */
#include <math.h>

#include "pipeline/stages/shared_numbers.h"

static const struct leat_arg args[] = {
    LEAT_NUMBERS_FIELD_ARGS(leat_numbers_config, numbers),
    LEAT_NUMBERS_DTYPE_ARG(leat_numbers_config, numbers, leat_numbers_floats, "float32",
                           "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(leat_numbers_config, numbers, "keep"),
    LEAT_ARGS_END,
};

static void put(const struct leat_config *config, struct leat_map *map, uint32_t row, size_t from,
                size_t to) {
    const struct leat_numbers *numbers = &((const struct leat_numbers_config *)config)->numbers;
    double x = leat_numbers_get(numbers, map, from);

    leat_numbers_put(numbers, map, row, to, x, log1p(x));
}

const struct leat_stage_ops leat_stage_log1p = {
    LEAT_STAGE_BASE("log1p", leat_numbers_config, MAP),
    .summary = "replaces a number x with log(1 + x)",
    .example = "{ input: Fare }",
    .check = leat_numbers_config_check,
    .plan = leat_numbers_config_plan,
    .map = leat_numbers_config_map,
    .put = put,
};
