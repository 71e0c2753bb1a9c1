/* tracing.h: what a run puts into a trace (trace.h): its jobs with their stages, the work of its
 * own thread, batches that are handed out, and what is in flight.
 *
 * Jobs bring their times with them; the clock is read for what is of this moment. Without a trace
 * nothing is done. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/outputs.h"
#include "pipeline/run/profile/trace.h"
#include "pipeline/work/job.h"

struct leat_run_tracing {
    struct leat_trace *trace; /* NULL: none */
    const struct leat_plan *plan;
    uint64_t (*now_ns)(void);
    uint32_t number;    /* of this run in the trace */
    uint32_t *files;    /* [files of the plan]: their index there + 1; 0: not there yet */
    uint64_t counts_ns; /* when counts were last added */
};

/* What is in flight at this moment. */
struct leat_run_tracing_counts {
    size_t n_slots;
    uint64_t n_bytes, n_blocks;
};

/* trace NULL: no more is traced. */
void leat_run_tracing_start(struct leat_run_tracing *tracing, struct leat_trace *trace,
                            const struct leat_plan *plan, uint64_t (*now_ns)(void));
void leat_run_tracing_add_job(struct leat_run_tracing *tracing, const struct leat_job *job);
void leat_run_tracing_add_order(struct leat_run_tracing *tracing, uint64_t n_rows,
                                uint64_t start_ns, uint64_t duration_ns);
void leat_run_tracing_add_output(struct leat_run_tracing *tracing,
                                 const struct leat_output_entry *entry);
/* Adds the counts, unless it did so a moment ago. */
void leat_run_tracing_add_counts(struct leat_run_tracing *tracing,
                                 const struct leat_run_tracing_counts *counts);
