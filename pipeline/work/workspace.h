/* workspace.h: what MAP stages keep from job to job, such as caches that pay only if they are warm.
 *
 * A run has as many as it has MAP jobs that run at once, and each is handed from one job to the
 * next (leat_job_start, leat_run_complete). What a stage keeps is made by the first job that gets
 * there with that workspace, on its thread, as it may take time.
 *
 * Owner: the job while one holds it, else the run.
 */
#pragma once

#include "pipeline/plan/plan.h"

struct leat_workspace {
    struct leat_workspace *next; /* in the run's pool */
    void *of_stage[];            /* [n_map]; NULL: not made yet, or the stage has none */
};

/* NULL when memory is out. plan->n_map must stay as it is while it lives. */
struct leat_workspace *leat_workspace_new(const struct leat_plan *plan);
struct leat_workspace *leat_workspace_free(struct leat_workspace *workspace,
                                           const struct leat_plan *plan);

/* Lets all stages rest that can; a list of workspaces. Any thread. */
void leat_workspace_rest(struct leat_workspace *first, const struct leat_plan *plan,
                         bool is_for_good);

/* What the stage plan->map[index] keeps here, made if need be; NULL for stages that keep nothing.
 * 0 or -errno. Any thread. */
int leat_workspace_get(struct leat_workspace *workspace, const struct leat_plan *plan, size_t index,
                       void **ret_memory, struct leat_error *err);
