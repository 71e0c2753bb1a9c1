/* run.h: a stream being run, as a state machine without I/O: it hands out jobs and takes them back.
 *
 * The driver decides where jobs run: the daemon on its pool of threads, tests on the calling thread
 * in any order of completion, `leatctl run --no-daemon` on its one thread. All functions but
 * leat_job_execute() are called on one thread, the owner of the run. Batches depend on plan, data,
 * seed, epoch, rank and world size alone, never on the order in which jobs complete.
 *
 *     for (;;) switch (leat_run_next_job(run, &job)) {
 *         case LEAT_RUN_JOB:        leat_job_start(job), leat_job_execute(job) on any thread, then
 *                                   leat_run_complete(run, job)
 *         case LEAT_RUN_NEEDS_SLOT: leat_run_give_slot() when a slot is free
 *         case LEAT_RUN_WAITING:    complete a job that is out
 *         case LEAT_RUN_ENDED:      all epochs were handed out, or the run failed (leat_run_error)
 *     }
 *     leat_run_take_output() whenever it has one: batches in the order of steps, ends of epochs.
 */
#pragma once

#include "pipeline/memory/budget.h"
#include "pipeline/order/output.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/options.h"
#include "pipeline/run/profile/profile.h"
#include "pipeline/work/job_kind.h"
#include "pipeline/work/knobs.h"

enum {
    LEAT_RUN_JOB = 1,
    LEAT_RUN_NEEDS_SLOT = 2,
    LEAT_RUN_WAITING = 3,
    LEAT_RUN_ENDED = 4,
};

struct leat_run;
struct leat_job;
struct leat_batch_refs;
struct leat_cache_file;
struct leat_trace;

struct leat_run_stats {
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS]; /* that came back */
    uint64_t n_made_blocks, n_made_bytes; /* made of the source, not read from the cache */
    struct leat_stream_counts counts;     /* times need now_ns */
    size_t n_stages;                      /* in the order in which data goes through them */
    uint64_t n_cache_written_bytes;
    uint64_t n_cache_notes;              /* how often something went wrong with the cache */
    uint64_t n_cache_done_bytes;         /* of the source that are in the cache */
    uint64_t n_cache_total_bytes;        /* of the source */
    const struct leat_error *cache_note; /* the latest; code 0: none */
    const struct leat_run_stage_stats *stages;
    const struct leat_error *last_bad; /* the latest bad record; code 0: none */
};

/* The plan comes from leat_pipeline_open(). */
int leat_run_new(struct leat_plan *plan, const struct leat_run_options *options,
                 struct leat_run **ret_run, struct leat_error *err);
/* Moves the end of the run: n_epochs and n_steps count from its beginning, as in its options. A
 * value that is less than the current one is ignored. Works until the last output is taken; batches
 * are those of a run that had these options from the start. 0; -EPIPE: the last output was taken,
 * or the run was cancelled; -ESPIPE: its source comes through a FIFO. */
int leat_run_extend(struct leat_run *run, uint64_t n_epochs, uint64_t n_steps,
                    struct leat_error *err);
/* No job may be out. Forgets the slots that were given and not handed out again. */
struct leat_run *leat_run_free(struct leat_run *run);
/* The same, but leaves the memory of blocks, of buffers and of jobs to the caller, who frees it on
 * any thread and discharges it from the account of the options. */
void leat_run_end(struct leat_run *take_run, struct leat_leftovers *ret_leftovers);

int leat_run_next_job(struct leat_run *run, struct leat_job **ret_job);
enum leat_job_kind leat_job_kind(const struct leat_job *job);
/* Number of the thread that is about to execute the job, for a trace; 0 if it is not set. */
void leat_job_set_thread(struct leat_job *job, uint32_t thread);
/* What executing the job took, for the counters of the run. The executing thread sets it. */
void leat_job_set_usage(struct leat_job *job, const struct leat_job_usage *usage);
/* Gives the job a workspace and scratch memory. Call it right before the job is executed: then few
 * of them exist, and they stay warm. */
void leat_job_start(struct leat_job *job);
void leat_job_execute(struct leat_job *job);
/* Takes the job back. If it failed, leat_run_error() tells so once all outputs before the failure
 * were taken. */
void leat_run_complete(struct leat_run *run, struct leat_job *take_job);

/* Sets the knobs at any time. Values out of range become the nearest ones in range. */
void leat_run_set_knobs(struct leat_run *run, const struct leat_knobs *knobs);
void leat_run_get_knobs(const struct leat_run *run, struct leat_knobs *ret_knobs);

/* Bytes that the first pending batch needs in a slot; 0: no batch is pending. */
size_t leat_run_slot_need(const struct leat_run *run);
/* Moves mapped rows through the order; returns the first pending batch or end of an epoch, which is
 * the run's; NULL: none. */
struct leat_batch_refs *leat_run_first_waiting(struct leat_run *run);
/* 0; -EMSGSIZE: the first pending batch needs a larger slot; -ENOMEM. The slot is taken at 0. */
int leat_run_give_slot(struct leat_run *run, const struct leat_slot *slot);
/* Takes back a slot that was given and not used, when the driver replaces its ring. */
bool leat_run_take_slot_back(struct leat_run *run, struct leat_slot *ret_slot);
/* True if a batch only lacks a slot. */
bool leat_run_lacks_slot(const struct leat_run *run);

bool leat_run_take_output(struct leat_run *run, struct leat_output *ret_output);
/* A trainer has begun that epoch. All of it may be made, and the first batches of the next one, as
 * many of each rank as `prefetch` says. */
void leat_run_reach(struct leat_run *run, uint64_t epoch);
/* Trainers have room for n_batches. With `prefetch`, these may be made beyond its number. */
void leat_run_set_credit(struct leat_run *run, uint64_t n_batches);

/* Texts for the operator, which the caller frees; NULL: none. Only a limited number is kept.
 * note: lines of stages; change: a file that has changed, and how; replay: why all batches before
 * the first step are made again, told once. */
char *leat_run_take_note(struct leat_run *run);
char *leat_run_take_change(struct leat_run *run);
char *leat_run_take_replay(struct leat_run *run);

/* Call it about once a second. Gives up what is costly to hold while nothing is done. True: ask
 * leat_run_next_job(). */
bool leat_run_tick(struct leat_run *run);
/* If the account is over its guarantee and others need memory, gives back unused memory. */
void leat_run_trim(struct leat_run *run);

/* The failure of the run, once all outputs before it were taken; NULL: none. */
const struct leat_error *leat_run_error(const struct leat_run *run);
/* Stops the run. The only further jobs complete a cache of which all blocks are made, or give up
 * what is costly to hold. The driver goes on until LEAT_RUN_ENDED, then frees the run. */
void leat_run_cancel(struct leat_run *run);

/* The cache in use, or the index that a run only builds; NULL: none. Each completed job may add
 * frames to it. */
const struct leat_cache_file *leat_run_get_cache(const struct leat_run *run);

/* Records events in the trace from now on, which needs now_ns. NULL: stops. The trace must outlive
 * its use. */
void leat_run_set_trace(struct leat_run *run, struct leat_trace *trace);

void leat_run_get_stats(const struct leat_run *run, struct leat_run_stats *ret_stats);
