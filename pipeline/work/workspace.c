#include "pipeline/work/workspace.h"

#include <stdlib.h>

struct leat_workspace *leat_workspace_new(const struct leat_plan *plan) {
    struct leat_workspace *workspace = NULL;

    return calloc(1, sizeof(*workspace) + plan->n_map * sizeof(workspace->of_stage[0]));
}

struct leat_workspace *leat_workspace_free(struct leat_workspace *workspace,
                                           const struct leat_plan *plan) {
    if (workspace)
        leat_scan_close_kept(&workspace->kept);
    for (size_t i = 0; workspace && i < plan->n_map; i++)
        if (workspace->of_stage[i])
            plan->map[i]->ops->workspace_free(workspace->of_stage[i]);
    free(workspace);
    return NULL;
}

int leat_workspace_get(struct leat_workspace *workspace, const struct leat_plan *plan, size_t index,
                       void **ret_memory, struct leat_error *err) {
    const struct leat_plan_stage *stage = plan->map[index];
    int r = 0;

    if (stage->ops->workspace_new && !workspace->of_stage[index])
        r = stage->ops->workspace_new(stage->config, &workspace->of_stage[index], err);
    *ret_memory = workspace->of_stage[index];
    return r;
}

void leat_workspace_idle(struct leat_workspace *first, const struct leat_plan *plan,
                         bool is_final) {
    for (struct leat_workspace *workspace = first; workspace; workspace = workspace->next)
        for (size_t i = 0; i < plan->n_map; i++)
            if (plan->map[i]->ops->workspace_idle && workspace->of_stage[i])
                plan->map[i]->ops->workspace_idle(workspace->of_stage[i], is_final);
}
