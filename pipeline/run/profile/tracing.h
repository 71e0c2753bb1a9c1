/* tracing.h: adds events of a run to a trace (trace.h): its jobs with their stages, the work of its
 * own thread, batches that are handed out, and counts. Without a trace it does nothing. Owner: the
 * run's thread. */
#pragma once

#include "pipeline/run/outputs.h"
#include "pipeline/run/profile/trace.h"
#include "pipeline/work/job.h"

struct leat_run_tracing {
    struct leat_trace *trace; /* NULL: none */
    const struct leat_plan *plan;
    uint64_t (*now_ns)(void);
    uint32_t number;    /* of this run in the trace */
    uint32_t *files;    /* [files of the plan]: index in the trace + 1; 0: not added yet */
    uint64_t counts_ns; /* when counts were last added */
};

/* trace NULL: stops. */
void leat_run_tracing_start(struct leat_run_tracing *tracing, struct leat_trace *trace,
                            const struct leat_plan *plan, uint64_t (*now_ns)(void));
void leat_run_tracing_add_job(struct leat_run_tracing *tracing, const struct leat_job *job);
void leat_run_tracing_add_order(struct leat_run_tracing *tracing, uint64_t n_rows,
                                uint64_t start_ns, uint64_t duration_ns);
void leat_run_tracing_add_output(struct leat_run_tracing *tracing,
                                 const struct leat_output_entry *entry);
/* Adds the numbers of free slots, bytes of memory and blocks, at most once in COUNTS_EVERY_NS.
 * There must be a trace. */
void leat_run_tracing_add_counts(struct leat_run_tracing *tracing, size_t n_slots, uint64_t n_bytes,
                                 uint64_t n_blocks);
