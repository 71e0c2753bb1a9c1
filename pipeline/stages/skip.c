/* skip.c: leaves out the first records of an epoch. */
#include "pipeline/stage/stage.h"

struct skip {
    struct leat_config base;
    int64_t count;
};

struct skip_state {
    uint64_t n_skipped;
};

static const struct leat_arg args[] = {
    LEAT_ARG(skip, count, INT, "number of records to drop", .is_positional = true,
             .is_required = true, .min = 0, .max = 9e15),
    LEAT_ARGS_END,
};

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    const struct skip *self = (const struct skip *)config;
    struct skip_state *skipped = state;

    if (skipped->n_skipped < (uint64_t)self->count) {
        skipped->n_skipped++;
        leat_ref_drop(ref);
        return 0;
    }
    return leat_order_push(down, ref, err);
}

static uint64_t rows_behind(const struct leat_config *config, uint64_t n_rows) {
    uint64_t count = (uint64_t)((const struct skip *)config)->count;

    if (n_rows == UINT64_MAX)
        return n_rows;
    return n_rows > count ? n_rows - count : 0;
}

const struct leat_stage_ops leat_stage_skip = {
    LEAT_STAGE_BASE("skip", skip, ORDER),
    .summary = "drops the first records of an epoch",
    .example = "{ count: 1000 }",
    .is_blind = true,
    .passes_one = true,
    .picks_by_order = true,
    .rows_behind = rows_behind,
    .state_size = sizeof(struct skip_state),
    .push = push,
};
