/* index_key.c: see index_key.h. */
#include "pipeline/cache/index_key.h"

#include <string.h>

#include "pipeline/plan/passing.h"

const char *leat_index_folder(const struct leat_plan *plan, const char *given) {
    const char *folder = plan->index_path ? plan->index_path : given;

    if (plan->cache_path || strcmp(plan->options.index, "off") == 0 || plan->mixing ||
        plan->is_one_pass || plan->blocks.block_size > 0 || leat_plan_find_varying(plan))
        return NULL;
    return folder;
}

bool leat_index_has_columns(const struct leat_plan *plan) {
    struct leat_passing passing;

    leat_plan_passing(plan, &passing);
    for (size_t i = 0; passing.is_blind && i < plan->n_order; i++)
        if (plan->order[i]->ops->evicts_above &&
            plan->order[i]->ops->evicts_above(plan->order[i]->config) > 0)
            return true;
    return !passing.is_blind;
}

void leat_index_key(bool has_columns, struct leat_cache_identity *identity) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, has_columns ? "leat index 1, columns" : "leat index 1, rows");
    leat_blake2b_update(&state, identity->key, sizeof(identity->key));
    leat_blake2b_final(&state, identity->key);
}
