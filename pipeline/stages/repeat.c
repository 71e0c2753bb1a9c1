/* repeat.c: passes over the data within one epoch.
 *
 * The run restarts everything before this stage for each pass (a shuffle gets another order); what
 * follows sees one long stream. References only pass through. After 100 passes in a row of which
 * filters left nothing, the epoch ends (order.h).
 */
#include "pipeline/stage/planner.h"

struct repeat {
    struct leat_config base;
    int64_t count;
};

static const struct leat_arg args[] = {
    LEAT_ARG(repeat, count, INT, "number of passes over the data; 0: without end",
             .is_positional = true, .is_required = true, .min = 0, .max = 1e12),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    const struct repeat *self = (const struct repeat *)config;

    if (planner->has_repeat)
        return leat_config_error(config, NULL, err, "a stream can have only one `repeat`");
    planner->has_repeat = true;
    planner->repeat_count = (uint64_t)self->count;
    return 0;
}

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    (void)config;
    (void)state;
    return leat_order_push(down, ref, err);
}

static uint64_t rows_behind(const struct leat_config *config, uint64_t n_rows) {
    uint64_t count = (uint64_t)((const struct repeat *)config)->count, n;

    if (n_rows == 0)
        return 0;
    return count == 0 || __builtin_mul_overflow(n_rows, count, &n) ? UINT64_MAX : n;
}

const struct leat_stage_ops leat_stage_repeat = {
    LEAT_STAGE_BASE("repeat", repeat, ORDER),
    .summary = "makes several passes over the data within one epoch",
    .example = "{ count: 3 }",
    .is_blind = true,
    .passes_one = true,
    .rows_behind = rows_behind,
    .plan = plan,
    .push = push,
};
