/* normalize.c: (x - mean) / std, computed in double, stored as float32. */
#include <errno.h>

#include "pipeline/scalar.h"
#include "pipeline/stage.h"

struct normalize {
    struct leat_config base;
    const char *input;
    const char *output;
    double mean, std;

    uint32_t from, to;
};

static const struct leat_arg args[] = {
    {.name = "input",
     .type = LEAT_ARG_FIELD,
     .offset = offsetof(struct normalize, input),
     .is_required = true,
     .help = "numbers, or a list of them"},
    {.name = "output",
     .type = LEAT_ARG_FIELD,
     .offset = offsetof(struct normalize, output),
     .help = "name of the result; left out: the same name"},
    {.name = "mean",
     .type = LEAT_ARG_FLOAT,
     .offset = offsetof(struct normalize, mean),
     .fallback = "0",
     .help = "what is taken away"},
    {.name = "std",
     .type = LEAT_ARG_FLOAT,
     .offset = offsetof(struct normalize, std),
     .fallback = "1",
     .min = 1e-300,
     .max = 1e300,
     .help = "what it is divided by"},
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct normalize *self = (struct normalize *)config;
    const struct leat_field *from;
    struct leat_field *to;
    int r = leat_planner_find(planner, config, "input", self->input, &self->from, err);

    if (r < 0)
        return r;
    from = leat_planner_field(planner, self->from);
    if (from->dtype == LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err, "\"%s\" is text: `cast` it to float32 first",
                                 self->input);
    if (from->is_padded)
        return leat_config_error(config, "input", err,
                                 "\"%s\" is padded: normalize it before `pad`", self->input);
    r = leat_planner_add(planner, config, self->output ? "output" : "input",
                         self->output ? self->output : self->input, LEAT_DTYPE_FLOAT32,
                         from->is_list, &self->to, &to, err);
    if (r == 0)
        to->max_length = from->max_length;
    return r;
}

static int make_result(const struct normalize *self, struct leat_map *map, size_t *ret_n_values) {
    const struct leat_column *from = leat_map_column(map, self->from);
    size_t total = map->block->n_rows;

    if (map->fields[self->from].is_list) {
        total = 0;
        for (uint32_t row = 0; row < map->block->n_rows; row++)
            total += from->lengths[row];
        if (total > UINT32_MAX || leat_map_make_views(map, self->to) < 0)
            return -ENOMEM;
    }
    leat_map_column(map, self->to)->values = leat_map_alloc(map, self->to, total * sizeof(float));
    *ret_n_values = total;
    return leat_map_column(map, self->to)->values ? 0 : -ENOMEM;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct normalize *self = (const struct normalize *)config;
    const struct leat_column *from = leat_map_column(map, self->from);
    const struct leat_column *to = leat_map_column(map, self->to);
    enum leat_dtype dtype = map->fields[self->from].dtype;
    size_t n_values, at = 0;
    float *values;

    if (make_result(self, map, &n_values) < 0)
        return leat_error_oom(err);
    values = to->values;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        size_t first = from->starts ? from->starts[row] : row,
               n = from->lengths ? from->lengths[row] : 1;

        if (to->starts) {
            to->starts[row] = (uint32_t)at;
            to->lengths[row] = (uint32_t)n;
        }
        for (size_t i = 0; i < n; i++)
            values[at++] =
                (float)((leat_scalar_double(from->values, dtype, first + i) - self->mean) /
                        self->std);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_normalize = {
    .name = "normalize",
    .summary = "(x - mean) / std, as float32",
    .example = "{ input: Age, mean: 29.7, std: 14.5 }",
    .kind = LEAT_STAGE_MAP,
    .args = args,
    .config_size = sizeof(struct normalize),
    .plan = plan,
    .map = map_rows,
};
