/* pipeline.h: the façade of the pipeline: what a program includes to open, run, read and close a
 * stream.
 *
 *     leat_pipeline_open()     a plan of a spec, which leat_plan_unref() closes
 *     leat_steps_...()         how many steps an epoch has (steps.h)
 *     leat_memory_plan()       how much memory a run takes (memory_plan.h)
 *     leat_run_new()           a run of the plan: jobs, slots and batches (run.h)
 *     leat_pipeline_step()     drives a run on the calling thread
 *     leat_tuner_...()         turns its knobs (tuner.h)
 *     leat_loads_gain()        what bounds its rate (bound.h)
 */
#pragma once

#include "pipeline/plan/data_digest.h"
#include "pipeline/run/bound.h"
#include "pipeline/run/profile/trace.h"
#include "pipeline/run/run.h"
#include "pipeline/run/tuner.h"
#include "pipeline/work/memory_plan.h"
#include "pipeline/work/steps.h"

/* Makes the plan of a copy of the spec, with the records that it skips. Errors have the path
 * streams.NAME.stages[i].KIND.ARG. 0 or -errno. May block. */
int leat_pipeline_open(const struct leat_spec *spec, const struct leat_opener *opener,
                       struct leat_plan **ret_plan, struct leat_error *err);
/* Makes a plan without batches (leat_plan_new), of which there is no run. */
int leat_pipeline_open_rows(const struct leat_spec *spec, const struct leat_opener *opener,
                            struct leat_plan **ret_plan, struct leat_error *err);

/* Executes the next job of the run on the calling thread. Returns what leat_run_next_job() does. */
int leat_pipeline_step(struct leat_run *run);
/* Cancels the run and executes the jobs that it still has, after which it may be freed. */
void leat_pipeline_stop(struct leat_run *run);
