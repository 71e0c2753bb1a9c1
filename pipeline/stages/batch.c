/* batch.c: how many rows a batch has. The batches themselves are cut by the run (order.h) and made
 * by collate.h. */
#include "pipeline/planner.h"

struct batch {
    struct leat_config base;
    int64_t batch_size;
    bool drop_last;
};

static const struct leat_arg args[] = {
    {.name = "batch_size",
     .type = LEAT_ARG_INT,
     .offset = offsetof(struct batch, batch_size),
     .is_required = true,
     .min = 1,
     .max = 1048576,
     .help = "rows of a batch"},
    {.name = "drop_last",
     .type = LEAT_ARG_BOOL,
     .offset = offsetof(struct batch, drop_last),
     .fallback = "false",
     .help = "leaves out the last batch of an epoch if it is smaller"},
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    const struct batch *self = (const struct batch *)config;

    (void)err;
    planner->has_batch = true;
    planner->batch_size = (uint64_t)self->batch_size;
    planner->drop_last = self->drop_last;
    return 0;
}

const struct leat_stage_ops leat_stage_batch = {
    .name = "batch",
    .summary = "puts rows together into batches",
    .example = "{ batch_size: 32, drop_last: false }",
    .kind = LEAT_STAGE_COLLATE,
    .args = args,
    .config_size = sizeof(struct batch),
    .plan = plan,
};
