/* run/rest.h: what a run does beside its batches: it lets workspaces rest and passes notes on. One
 * thread: the run's. Part of run.c's inside. */
#pragma once

#include "pipeline/run/run_internal.h"

/* Sets map_limit and can_rest from the plan. */
void leat_run_rest_init(struct leat_run *run);
void leat_run_rest_deinit(struct leat_run *run);

/* Whether workspaces are to rest now; fills the job with all that are free. */
bool leat_run_wants_rest(const struct leat_run *run, bool is_for_good);
void leat_run_begin_rest(struct leat_run *run, struct leat_rest_job *rest, bool is_for_good);
void leat_run_end_rest(struct leat_run *run, struct leat_rest_job *rest);
