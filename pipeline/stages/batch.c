/* batch.c: how many rows a batch has, or how many tokens. The run cuts and collates batches
 * (order/batcher.h); here are the plan, and the check that a row fits.
 *
 * Tokens of a batch are its rows times the longest of them, padding included: what a trainer has to
 * compute. So no list of the batch has more than max_tokens elements, and slots stay bounded
 * whatever the rows are.
 */
#include "pipeline/stage/planner.h"

struct batch {
    struct leat_config base;
    int64_t batch_size;
    int64_t max_tokens;
    int64_t max_rows;
    struct leat_texts tokens_of;
    bool drop_last;

    uint32_t counted[LEAT_SLOT_MAX_TENSORS];
    size_t n_counted;
    uint64_t shortest; /* tokens of the shortest possible row */
};

static const struct leat_arg args[] = {
    LEAT_ARG(batch, batch_size, INT, "rows per batch", .is_positional = true, .min = 1,
             .max = 1048576),
    LEAT_ARG(
        batch, max_tokens, INT,
        "in place of `batch_size`: the maximum number of elements per batch; padding counts too, "
        "so this is the number of rows times the length of the longest row; a record "
        "with more elements is bad",
        .min = 1, .max = 1 << 28),
    LEAT_ARG(batch, max_rows, INT,
             "with `max_tokens`: the maximum number of rows per batch; default: the value of "
             "`max_tokens`",
             .min = 1, .max = 1048576),
    LEAT_ARG(batch, tokens_of, FIELDS,
             "with `max_tokens`: the lists whose elements count; default: all lists without a "
             "fixed width",
             .min = 1, .max = LEAT_SLOT_MAX_TENSORS),
    LEAT_ARG(batch, drop_last, BOOL,
             "true: leat drops the last batch of an epoch if this batch is smaller than the "
             "others; with `bucket`, leat drops the smaller last batch of each bucket",
             .fallback = "false"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct batch *self = (const struct batch *)config;

    if (self->batch_size == 0 && self->max_tokens == 0)
        return leat_config_error(
            config, NULL, err,
            "batch_size is missing: give the number of rows per batch, or `max_tokens`");
    if (self->batch_size > 0 && self->max_tokens > 0)
        return leat_config_error(config, "max_tokens", err,
                                 "give `batch_size` or `max_tokens`, not both; to limit the rows "
                                 "too, give `max_rows` with `max_tokens`");
    if (self->max_tokens == 0 && (self->max_rows > 0 || self->tokens_of.n_items > 0))
        return leat_config_error(config, self->max_rows > 0 ? "max_rows" : "tokens_of", err,
                                 "works only with `max_tokens`");
    return 0;
}

/* Refuses a list whose rows always have more tokens than a batch. */
static int check_bound(const struct batch *self, const struct leat_field *field, const char *name,
                       struct leat_error *err) {
    uint64_t most = leat_field_padded(field, field->max_length);
    bool is_fixed = field->is_padded && field->pad_length > 0;

    if (most <= (uint64_t)self->max_tokens || (field->made == LEAT_MADE_OF_RECORDS && !is_fixed))
        return 0;
    return leat_config_error(&self->base, "max_tokens", err,
                             "%lld is less than the %llu elements that a row of \"%s\" may have",
                             (long long)self->max_tokens, (unsigned long long)most, name);
}

static int count(struct batch *self, struct leat_planner *planner, const char *name,
                 struct leat_error *err) {
    const struct leat_field *field;
    uint32_t column;
    int r = leat_planner_find_made(planner, &self->base, "tokens_of", name, &column, err);

    if (r < 0)
        return r;
    field = leat_planner_field(planner, column);
    if (!field->is_list || field->dtype == LEAT_DTYPE_TEXT)
        return leat_config_error(&self->base, "tokens_of", err, "\"%s\" is not a list of numbers",
                                 name);
    if (self->n_counted == LEAT_SLOT_MAX_TENSORS)
        return leat_config_error(&self->base, NULL, err,
                                 "a row has more than %d lists to count: name fewer in `tokens_of`",
                                 LEAT_SLOT_MAX_TENSORS);
    self->counted[self->n_counted++] = column;
    if (field->is_padded && field->pad_length > 0)
        self->shortest = field->pad_length > self->shortest ? field->pad_length : self->shortest;
    return check_bound(self, field, name, err);
}

static int count_all(struct batch *self, struct leat_planner *planner, struct leat_error *err) {
    for (size_t i = 0; i < planner->n_names; i++) {
        const struct leat_field *field = &planner->fields[planner->names[i].column];
        bool counts = field->is_list && field->dtype != LEAT_DTYPE_TEXT &&
                      (field->is_padded || field->width == 0) && field->made != LEAT_MADE_AS_MASK &&
                      field->made < LEAT_MADE_AS_POSITIONS;
        int r = counts ? count(self, planner, planner->names[i].name, err) : 0;

        if (r < 0)
            return r;
    }
    if (self->n_counted == 0)
        return leat_config_error(&self->base, "max_tokens", err,
                                 "the records have no list whose elements could count as tokens: "
                                 "give `batch_size`, not `max_tokens`");
    return 0;
}

static int plan_tokens(struct batch *self, struct leat_planner *planner, struct leat_error *err) {
    int r = 0;

    self->n_counted = 0;
    self->shortest = 1;
    if (self->tokens_of.n_items == 0)
        r = count_all(self, planner, err);
    for (size_t i = 0; r == 0 && i < self->tokens_of.n_items; i++)
        r = count(self, planner, self->tokens_of.items[i], err);
    if (r < 0)
        return r;
    planner->max_tokens = (uint64_t)self->max_tokens;
    planner->counted = self->counted;
    planner->n_counted = self->n_counted;
    planner->batch_size = (uint64_t)self->max_tokens / self->shortest;
    if (self->max_rows > 0 && (uint64_t)self->max_rows < planner->batch_size)
        planner->batch_size = (uint64_t)self->max_rows;
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct batch *self = (struct batch *)config;

    planner->has_batch = true;
    planner->batch_size = (uint64_t)self->batch_size;
    planner->drop_last = self->drop_last;
    return self->max_tokens > 0 ? plan_tokens(self, planner, err) : 0;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct batch *self = (const struct batch *)config;

    (void)err;
    for (size_t i = 0; i < self->n_counted; i++) {
        const struct leat_field *field = &map->fields[self->counted[i]];
        const struct leat_column *column = leat_map_column(map, self->counted[i]);

        for (uint32_t row = 0; field->made == LEAT_MADE_OF_RECORDS && row < map->block->n_rows;
             row++)
            if (leat_field_padded(field, column->lengths[row]) > (uint64_t)self->max_tokens)
                leat_map_reject(
                    map, row, field->name,
                    "has %u elements, more than batch.max_tokens %lld: cut it with max_length",
                    column->lengths[row], (long long)self->max_tokens);
    }
    return 0;
}

const struct leat_stage_ops leat_stage_batch = {
    LEAT_STAGE_BASE("batch", batch, COLLATE),
    .summary = "groups rows into batches, by the number of rows or tokens",
    .example = "{ batch_size: 32, drop_last: false }",
    .check = check,
    .plan = plan,
    .map = map_rows,
};
