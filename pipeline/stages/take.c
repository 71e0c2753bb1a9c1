/* take.c: the first records of an epoch; nothing behind them is read. */
#include "pipeline/stage/stage.h"

struct take {
    struct leat_config base;
    int64_t count;
};

struct take_state {
    uint64_t n_taken;
};

static const struct leat_arg args[] = {
    LEAT_ARG(take, count, INT, "number of records to keep", .is_positional = true,
             .is_required = true, .min = 1, .max = 9e15),
    LEAT_ARGS_END,
};

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    const struct take *self = (const struct take *)config;
    struct take_state *taken = state;
    int r;

    if (taken->n_taken >= (uint64_t)self->count) {
        leat_ref_drop(ref);
        return LEAT_ORDER_DONE;
    }
    taken->n_taken++;
    r = leat_order_push(down, ref, err);
    return r == 0 && taken->n_taken == (uint64_t)self->count ? LEAT_ORDER_DONE : r;
}

static uint64_t rows_behind(const struct leat_config *config, uint64_t n_rows) {
    uint64_t count = (uint64_t)((const struct take *)config)->count;

    return n_rows < count ? n_rows : count;
}

const struct leat_stage_ops leat_stage_take = {
    LEAT_STAGE_BASE("take", take, ORDER),
    .summary = "keeps the first records of an epoch",
    .example = "{ count: 1000 }",
    .is_blind = true,
    .passes_one = true,
    .picks_by_order = true,
    .rows_behind = rows_behind,
    .state_size = sizeof(struct take_state),
    .push = push,
};
