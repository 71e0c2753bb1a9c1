/* workspace.h: what MAP stages keep from job to job, such as caches that help only when warm.
 *
 * A run has one workspace for each MAP job that runs at once, and hands it from job to job
 * (leat_job_start, leat_run_complete). The first job that runs a stage with a workspace makes the
 * stage's part of it, on its own thread, as that may take time. Owner: the job that holds it, else
 * the run.
 */
#pragma once

#include "pipeline/work/scan.h"

struct leat_workspace {
    struct leat_workspace *next; /* in the run's pool */
    struct leat_scan_kept kept;  /* the file of the last piece that was read by a MAP job */
    void *of_stage[];            /* [n_map]; NULL: not made yet, or the stage keeps nothing */
};

/* NULL: no memory. plan->n_map must not change while the workspace exists. */
struct leat_workspace *leat_workspace_new(const struct leat_plan *plan);
struct leat_workspace *leat_workspace_free(struct leat_workspace *workspace,
                                           const struct leat_plan *plan);

/* Calls workspace_idle of all stages, for a list of workspaces. Any thread. */
void leat_workspace_idle(struct leat_workspace *first, const struct leat_plan *plan, bool is_final);

/* The part of the stage plan->map[index], which is made if it is missing; NULL: the stage keeps
 * nothing. 0 or -errno. Any thread. */
int leat_workspace_get(struct leat_workspace *workspace, const struct leat_plan *plan, size_t index,
                       void **ret_memory, struct leat_error *err);
