/* passing.c: see passing.h. */
#include "pipeline/plan/passing.h"

/* The first that looks at rows; NULL: none. */
static const char *find_look(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_order; i++)
        if (plan->order[i]->filter_column >= 0 || !plan->order[i]->ops->is_blind)
            return plan->order[i]->ops->name;
    if (plan->max_tokens > 0)
        return "max_tokens";
    return plan->bucketing ? "bucket" : NULL;
}

/* The first by which a record may be no row; NULL: none. */
static const char *find_drop(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_map; i++)
        if (leat_stage_filters(plan->map[i]->config) && plan->map[i]->filter_column < 0)
            return plan->map[i]->ops->name;
    return plan->options.on_error == LEAT_ON_ERROR_FAIL ? NULL : "on_error";
}

void leat_plan_passing(const struct leat_plan *plan, struct leat_passing *ret_passing) {
    const char *looks = find_look(plan), *drops = find_drop(plan);

    *ret_passing = (struct leat_passing){
        .is_blind = !looks, .are_counted = !looks && !drops, .looks = looks, .drops = drops};
}
