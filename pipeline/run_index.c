/* run_index.c: see run_index.h. */
#include "pipeline/run_index.h"

#include <string.h>

#include "pipeline/passing.h"
#include "pipeline/run_internal.h"

const char *leat_run_index_folder(const struct leat_run *run) {
    return run->plan->index_path ? run->plan->index_path : run->options.index_folder;
}

static bool wants_index(const struct leat_run *run) {
    const struct leat_plan *plan = run->plan;

    if (plan->cache_path || run->options.cache_folder || run->options.only_builds)
        return false;
    return leat_run_index_folder(run) && strcmp(plan->options.index, "off") != 0 && !plan->mixing &&
           !plan->is_one_pass && !leat_plan_find_varying(plan);
}

static bool holds_all(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_order; i++)
        if (plan->order[i]->ops->evicts_above &&
            plan->order[i]->ops->evicts_above(plan->order[i]->config) > 0)
            return true;
    return false;
}

/* Without memory for it, there is none. */
void leat_run_index_init(struct leat_run *run) {
    struct leat_passing passing;

    if (!wants_index(run))
        return;
    leat_plan_passing(run->plan, &passing);
    run->cache.is_index = leat_bare_schema_init(&run->cache.bare_schema, run->plan,
                                                !passing.is_blind || holds_all(run->plan)) == 0;
}

bool leat_run_index_is_read(const struct leat_run *run) {
    return !run->cache.is_index || run->residents.max_bytes > 0 || leat_run_is_passing(run);
}
