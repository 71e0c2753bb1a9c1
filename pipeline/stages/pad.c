/* pad.c: lists to equal lengths. A property of collation: rows are copied into the slot once and
 * filled up there; here are only the schema and the check that no row is longer than `length`.
 */
#include "pipeline/stages/tokenize/tokenize.h"
#include "proto/base/scalar.h"

struct pad {
    struct leat_config base;
    const char *input;
    int64_t length;
    bool longest;
    int64_t multiple_of;
    int side;
    struct leat_token_value value;
    const char *mask;

    uint32_t column;
    bool has_long_rows; /* rows may be longer than `length` */
};

static const char *const sides[] = {"right", "left", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(pad, input, FIELD, "the list to pad", .is_required = true),
    LEAT_ARG(pad, length, INT,
             "number of elements in each row after padding; a record with a longer row is "
             "bad",
             .is_positional = true, .min = 1, .max = 1 << 28),
    LEAT_ARG(pad, longest, BOOL,
             "true: leat pads each row to the length of the longest row in the batch",
             .fallback = "false"),
    LEAT_ARG(pad, multiple_of, INT,
             "leat pads each row to the length of the longest row in the batch, rounded "
             "up to a multiple of this number",
             .min = 1, .max = 65536),
    LEAT_ARG(pad, side, CHOICE, "the side that gets the padding", .fallback = "right",
             .choices = sides),
    LEAT_ARG(pad, value, TOKEN,
             "value of the padding: a number, or a token of the tokenizer, such as \"[PAD]\"; "
             "default: the tokenizer's padding token"),
    LEAT_ARG(pad, mask, FIELD,
             "name of a field for the mask: an int32 tensor of the same shape as the "
             "padded list, with 1 for elements and 0 for padding"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct pad *self = (const struct pad *)config;
    int n_ways = (self->length > 0) + self->longest + (self->multiple_of > 0);

    if (n_ways == 2 && self->longest && self->multiple_of > 0)
        n_ways = 1;
    if (n_ways != 1)
        return leat_config_error(config, n_ways ? "length" : NULL, err,
                                 "give exactly one of `length`, `longest` and `multiple_of`");
    return 0;
}

static int plan_value(struct leat_config *config, struct leat_field *field,
                      struct leat_error *err) {
    const struct pad *self = (const struct pad *)config;
    uint64_t element;
    int r = 0;

    if (leat_config_given(config, "value"))
        r = leat_fill_number(config, "value", &self->value, field, &field->pad_value, err);
    else if (!field->has_pad_value)
        return leat_config_error(config, NULL, err,
                                 "the tokenizer of \"%s\" has no padding token: set `value` to a "
                                 "number, or to a token such as \"[PAD]\" (0 is rarely right)",
                                 self->input);
    if (r < 0)
        return r;
    if (leat_scalar_store_double(&element, field->dtype, 0, field->pad_value) < 0)
        return leat_config_error(config, "value", err,
                                 "%g is not a value of type %s, the type of \"%s\"",
                                 field->pad_value, leat_dtype_name(field->dtype), self->input);
    field->has_pad_value = true;
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct pad *self = (struct pad *)config;
    struct leat_field *field, *mask;
    uint32_t mask_column;
    int r = leat_planner_find_made(planner, config, "input", self->input, &self->column, err);

    if (r < 0)
        return r;
    field = leat_planner_edit(planner, self->column);
    self->has_long_rows = self->length > 0 && field->made == LEAT_MADE_OF_RECORDS;
    if (self->length > 0 && field->made != LEAT_MADE_OF_RECORDS &&
        field->max_length > (uint64_t)self->length)
        return leat_config_error(
            config, "length", err,
            "%lld is less than the %llu elements that a row of \"%s\" may have: raise `length`",
            (long long)self->length, (unsigned long long)field->max_length, self->input);
    if (!field->is_list || field->dtype == LEAT_DTYPE_TEXT)
        return leat_config_error(config, "input", err, "\"%s\" is %s, not a list", self->input,
                                 field->dtype == LEAT_DTYPE_TEXT ? "text" : "one number");
    if (field->is_padded)
        return leat_config_error(config, "input", err, "\"%s\" is already padded", self->input);
    r = plan_value(config, field, err);
    if (r < 0)
        return r;
    field->is_padded = true;
    field->pad_length = (uint64_t)self->length;
    field->pad_multiple = (uint64_t)self->multiple_of;
    field->pad_left = self->side == 1;
    if (!self->mask)
        return 0;
    r = leat_planner_add(planner, config, "mask", self->mask, LEAT_DTYPE_INT32, true, &mask_column,
                         &mask, err);
    if (r == 0) {
        mask->made = LEAT_MADE_AS_MASK;
        mask->of = self->column;
    }
    return r;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct pad *self = (const struct pad *)config;
    struct leat_column *column = leat_map_column(map, self->column);

    (void)err;
    if (!self->has_long_rows)
        return 0;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        if (column->lengths[row] <= (uint64_t)self->length)
            continue;
        leat_map_reject(map, row, self->input,
                        "has %u elements, more than pad.length %lld: cut it with max_length",
                        column->lengths[row], (long long)self->length);
        column->lengths[row] = 0; /* no batch has a longer one, even if the row stays */
    }
    return 0;
}

const struct leat_stage_ops leat_stage_pad = {
    LEAT_STAGE_BASE("pad", pad, MAP),
    .summary = "pads lists to equal lengths, and can make a mask",
    .example = "{ input: input_ids, length: 128, value: 0, mask: attention_mask }",
    .check = check,
    .plan = plan,
    .map = map_rows,
};
