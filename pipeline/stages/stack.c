/* stack.c: puts numbers and lists of a fixed width side by side in a row of a matrix, as
 * numpy.column_stack. */
#include <stdlib.h>

#include "pipeline/stages/shared_numbers.h"
#include "proto/base/scalar.h"

#define WIDTH_MAX (UINT64_C(1) << 20)

struct stack {
    struct leat_config base;
    struct leat_numbers numbers; /* dtype, nan; `from` is the current input */
    struct leat_texts inputs;

    uint32_t *columns; /* [inputs.n_items] */
    uint64_t width;
    bool chose_dtype; /* a given float32 may round */
};

static const struct leat_arg args[] = {
    LEAT_ARG(stack, inputs, FIELDS,
             "the fields to put side by side: numbers, and lists of fixed width (from `one_hot`, "
             "`rfft`, `stack`)",
             .is_positional = true, .is_required = true, .min = 1, .max = LEAT_FIELDS_MAX),
    LEAT_ARG_NAMED("output", stack, numbers.output, FIELD, "name of the resulting list",
                   .is_positional = true, .is_required = true),
    LEAT_NUMBERS_DTYPE_ARG(stack, numbers, leat_numbers_dtypes, "float32", "dtype of the result"),
    LEAT_NUMBERS_NAN_ARGS(stack, numbers, "keep"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct stack *self = (struct stack *)config;
    int r = leat_numbers_check(config, &self->numbers, err);

    if (r == 0)
        r = leat_numbers_check_default(config, &self->numbers, err);
    if (r < 0)
        return r;
    self->chose_dtype = leat_config_given(config, "dtype");
    self->columns = calloc(self->inputs.n_items, sizeof(*self->columns));
    return self->columns ? 0 : leat_error_oom(err);
}

static void unload(struct leat_config *config) {
    free(((struct stack *)config)->columns);
}

static int plan_input(struct stack *self, struct leat_planner *planner, size_t index,
                      struct leat_error *err) {
    const char *name = self->inputs.items[index];
    const struct leat_field *field;
    int r = leat_planner_find(planner, &self->base, "inputs", name, &self->columns[index], err);

    if (r < 0)
        return r;
    field = leat_planner_field(planner, self->columns[index]);
    r = leat_numbers_check_field(&self->base, "inputs", name, field, err);
    if (r < 0)
        return r;
    if (field->is_list && field->width == 0)
        return leat_config_error(&self->base, "inputs", err,
                                 "the lists of \"%s\" differ in length, but `stack` accepts only "
                                 "numbers and lists of fixed width",
                                 name);
    self->width += field->is_list ? field->width : 1;
    if (self->width > WIDTH_MAX)
        return leat_config_error(&self->base, "inputs", err,
                                 "a row would have more than %llu numbers",
                                 (unsigned long long)WIDTH_MAX);
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct stack *self = (struct stack *)config;
    struct leat_field *to;
    int r = 0;

    for (size_t i = 0; r == 0 && i < self->inputs.n_items; i++)
        r = plan_input(self, planner, i, err);
    if (r == 0)
        r = leat_planner_add(planner, config, "output", self->numbers.output,
                             (enum leat_dtype)self->numbers.dtype, true, &self->numbers.to, &to,
                             err);
    if (r == 0)
        to->max_length = to->width = self->width;
    return r;
}

/* Whole numbers stay whole, since a double does not hold all of int64. float32 by default must not
 * round them. */
static void put(const struct stack *self, const struct leat_numbers *numbers, struct leat_map *map,
                uint32_t row, size_t from, size_t to) {
    const void *values = leat_map_column(map, numbers->from)->values;
    enum leat_dtype dtype = map->fields[numbers->from].dtype;
    double x;

    if (leat_dtype_is_integer(dtype)) {
        int64_t number = leat_scalar_int(values, dtype, from);

        leat_numbers_put_int(numbers, map, row, to, number);
        if (!self->chose_dtype && leat_scalar_rounds((enum leat_dtype)numbers->dtype, number))
            leat_map_reject(map, row, numbers->input, "%s would round %lld: set a larger `dtype`",
                            leat_dtype_name((enum leat_dtype)numbers->dtype), (long long)number);
        return;
    }
    x = leat_scalar_double(values, dtype, from);
    leat_numbers_put(numbers, map, row, to, x, x);
}

static void put_row(const struct stack *self, struct leat_map *map, uint32_t row, size_t at) {
    struct leat_numbers numbers = self->numbers;

    for (size_t i = 0; i < self->inputs.n_items; i++) {
        const struct leat_column *column = leat_map_column(map, self->columns[i]);
        size_t first = column->starts ? column->starts[row] : row;
        size_t n = column->lengths ? column->lengths[row] : 1;

        numbers.from = self->columns[i];
        numbers.input = self->inputs.items[i];
        for (size_t k = 0; k < n; k++)
            put(self, &numbers, map, row, first + k, at++);
    }
}

/* True if the row has all its values. A row that a filter will drop may have lost some. */
static bool is_whole(const struct stack *self, const struct leat_map *map, uint32_t row) {
    for (size_t i = 0; i < self->inputs.n_items; i++) {
        const struct leat_column *column = leat_map_column(map, self->columns[i]);

        if (column->lengths && column->lengths[row] != map->fields[self->columns[i]].width)
            return false;
    }
    return true;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct stack *self = (const struct stack *)config;
    struct leat_column *to = leat_map_column(map, self->numbers.to);
    size_t at = 0;
    int r = leat_numbers_make_lists(map, self->numbers.to, map->block->n_rows * self->width, err);

    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++) {
        bool has_row = is_whole(self, map, row);

        to->starts[row] = (uint32_t)at;
        to->lengths[row] = has_row ? (uint32_t)self->width : 0;
        if (has_row)
            put_row(self, map, row, at);
        at += to->lengths[row];
    }
    return r;
}

const struct leat_stage_ops leat_stage_stack = {
    LEAT_STAGE_BASE("stack", stack, MAP),
    .summary = "joins numbers and lists into one list, a row of a matrix",
    .example = "{ inputs: [Age, Fare, SibSp], output: features }",
    .check = check,
    .unload = unload,
    .plan = plan,
    .map = map_rows,
};
