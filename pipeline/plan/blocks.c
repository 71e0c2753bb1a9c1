/* plan/blocks.c: finds the stage that has the source read block by block, in random order (a
 * `shuffle` with `blocks`), and checks that the data could be in that order. */
#include <errno.h>
#include <string.h>

#include "pipeline/plan/plan_internal.h"

static int fail_at_stage(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                         struct leat_error *err) {
    leat_plan_prefix_stage(plan, stage, err);
    return -EINVAL;
}

static int check_source(const struct leat_plan *plan, const struct leat_plan_stage *stage,
                        struct leat_error *err) {
    if (plan->is_one_pass) {
        leat_config_error(stage->config, "blocks", err,
                          "%s is a FIFO, so its blocks cannot be read in another order: shuffle "
                          "with `buffer_size` or `global` alone",
                          plan->source->files.paths[0]);
        return fail_at_stage(plan, stage, err);
    }
    if (plan->mixing) {
        leat_config_error(stage->config, "blocks", err,
                          "`%s` reads its sources record by record in its own order: shuffle with "
                          "`buffer_size` or `global` alone",
                          plan->source_ops->name);
        return fail_at_stage(plan, stage, err);
    }
    if (plan->blocks.n_lanes > 0 && !plan->cache_path && !plan->index_path) {
        leat_config_error(stage->config, "lanes", err,
                          "needs the number of records beforehand: give the stream a `cache`, or a "
                          "folder for its `index`, and make it with `leatctl cache warm %s`",
                          plan->spec->file ? plan->spec->file : "FILE");
        return fail_at_stage(plan, stage, err);
    }
    if (plan->is_compressed && !plan->cache_path) {
        leat_config_error(
            stage->config, "blocks", err,
            "%s is compressed, so it can only be read from front to back: give the stream a "
            "`cache`, decompress it, or shuffle with `buffer_size` or `global` alone",
            plan->source->files.paths[0]);
        return fail_at_stage(plan, stage, err);
    }
    return 0;
}

/* A stage before it would see other records first. */
static int check_place(const struct leat_plan *plan, size_t at, struct leat_error *err) {
    const struct leat_plan_stage *before = at > 0 ? plan->order[0] : NULL;

    if (!before || (at == 1 && plan->has_repeat && plan->repeat_at == 0))
        return 0;
    leat_config_error(plan->order[at]->config, "blocks", err,
                      "`%s`, which depends on the order of the data, comes before it, but `blocks` "
                      "changes that order: put `shuffle` first",
                      before->ops->name);
    return fail_at_stage(plan, plan->order[at], err);
}

/* Stages behind `lanes` are there once for each lane. Those that must see all rows in one order
 * cannot be. */
static int check_lanes(const struct leat_plan *plan, size_t at, struct leat_error *err) {
    for (size_t i = at + 1; plan->blocks.n_lanes > 0 && i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        bool is_full = stage->ops->evicts_above && stage->ops->evicts_above(stage->config) > 0;

        if (stage->filter_column >= 0 || !(stage->ops->picks_by_order || is_full))
            continue;
        leat_config_error(
            stage->config, is_full ? "global" : NULL, err,
            "it follows `shuffle: {lanes}`, so it would see the rows of only one lane: %s",
            is_full ? "shuffle with `buffer_size`" : "remove it, or remove `lanes`");
        return fail_at_stage(plan, stage, err);
    }
    return 0;
}

int leat_plan_find_blocks(struct leat_plan *plan, struct leat_error *err) {
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        struct leat_block_order order = {.block_size = 0};
        int r;

        if (!stage->ops->reads)
            continue;
        stage->ops->reads(stage->config, &order);
        if (order.block_size == 0)
            continue;
        plan->blocks = order;
        plan->blocks.index = stage->kind_index;
        r = check_place(plan, i, err);
        if (r == 0)
            r = check_source(plan, stage, err);
        if (r == 0)
            r = check_lanes(plan, i, err);
        if (r < 0)
            return r;
    }
    return 0;
}
