/* prefetch.c: how many batches are ready ahead. A ring may have more slots, since its trainers read
 * at different paces. */
#include "pipeline/stage/planner.h"

struct prefetch {
    struct leat_config base;
    int64_t prefetch_size;
};

static const struct leat_arg args[] = {
    LEAT_ARG(prefetch, prefetch_size, INT,
             "the maximum number of batches that leat prepares for each rank before the trainer "
             "asks for them; the same limit applies to batches of the next epoch; without this "
             "stage, leat prepares as many batches as fit into the stream's shared memory, and 1 "
             "batch of the next epoch",
             .is_aside = true, .is_required = true, .is_positional = true, .min = 1, .max = 4096),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    const struct prefetch *self = (const struct prefetch *)config;

    (void)err;
    planner->has_prefetch = true;
    planner->prefetch_size = (uint64_t)self->prefetch_size;
    return 0;
}

const struct leat_stage_ops leat_stage_prefetch = {
    LEAT_STAGE_BASE("prefetch", prefetch, COLLATE),
    .summary = "limits how many batches leat prepares ahead of the trainer",
    .example = "{ prefetch_size: 4 }",
    .plan = plan,
};
