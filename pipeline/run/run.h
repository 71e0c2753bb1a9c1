/* run.h: a stream being run: a state machine that hands out jobs and takes them back. Sans-I/O.
 *
 * Whoever drives it decides where jobs run: the daemon on libuv's pool, tests inline in any
 * completion order, `leatctl run --no-daemon` on one thread. All functions but leat_job_execute()
 * are called on one thread (the run's owner). The batches are a pure function of (plan, data, seed,
 * epoch, rank, world size): never of the order in which jobs complete.
 *
 *     for (;;) switch (leat_run_next_job(run, &job)) {
 *         case LEAT_RUN_JOB:        leat_job_start(job), execute it anywhere, then
 *                                   leat_run_complete(run, job)
 *         case LEAT_RUN_NEEDS_SLOT: leat_run_give_slot() when one is free: batches wait for slots
 *         case LEAT_RUN_WAITING:    complete a job that is out
 *         case LEAT_RUN_ENDED:      all epochs that were asked for were handed out, or the run
 *                                   failed (leat_run_error)
 *     }
 *     leat_run_take_output() whenever it has one: batches in step order, and the end of each epoch.
 */
#pragma once

#include "pipeline/memory/spread.h"
#include "pipeline/order/output.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/knob_turns.h"
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
    uint64_t n_made_blocks, n_made_bytes; /* of the source; others came from the cache */
    uint64_t n_batch_bytes;
    struct leat_spread batch_bytes, batch_rows;
    uint64_t n_batches, n_rows, n_elements, n_source_bytes, n_source_records, n_bad_records;
    uint64_t n_changed_files; /* times that a file was found to have changed */
    uint32_t n_jobs, n_blocks;
    /* Known only with now_ns: from its beginning to its end or up to now, and in which part of that
     * a batch could have been made and had no slot, because trainers are slow. */
    uint64_t lifetime_ns, no_slot_ns;
    uint64_t short_ns; /* likewise: in which it read or mapped less at once for want of memory */
    size_t n_stages;   /* in the order in which data goes through them */
    uint64_t n_cache_written_bytes;
    uint64_t n_cache_notes;              /* what went wrong with the cache, so often */
    uint64_t n_cache_done_bytes;         /* of the source are in the cache, */
    uint64_t n_cache_total_bytes;        /* of so many that it has */
    const struct leat_error *cache_note; /* the latest; code 0: nothing */
    const struct leat_run_stage_stats *stages;
    const struct leat_error *last_bad; /* the latest bad record; code 0: none */
};

int leat_run_new(struct leat_plan *plan, const struct leat_run_options *options,
                 struct leat_run **ret_run, struct leat_error *err);
/* It is to end later than it was told: n_epochs and n_steps as in its options, counted from where
 * it began; less than it has now is not meant. At any time before its last output is taken: batches
 * are those of a run that was told so at once. 0; -EPIPE: its end was taken, or it was cancelled;
 * -ESPIPE: its source comes once. */
int leat_run_extend(struct leat_run *run, uint64_t n_epochs, uint64_t n_steps,
                    struct leat_error *err);
/* No job may be out. Slots that were given and not handed out again are forgotten. */
struct leat_run *leat_run_free(struct leat_run *run);

int leat_run_next_job(struct leat_run *run, struct leat_job **ret_job);
enum leat_job_kind leat_job_kind(const struct leat_job *job);
/* Which of several threads is about to execute it; for a trace. Without it: 0. */
void leat_job_set_thread(struct leat_job *job, uint32_t thread);
/* What executing it took, for the run's counters; by whoever executed it. */
void leat_job_set_usage(struct leat_job *job, const struct leat_job_usage *usage);
/* Right before it is executed, on the run's thread: gives it what stages keep from job to job
 * (workspace.h). The later, the fewer of these there are, and the warmer they stay. */
void leat_job_start(struct leat_job *job);
void leat_job_execute(struct leat_job *job);
/* Takes the job back. A failure of the stream is remembered in the run, and is told by
 * leat_run_error() after everything before it was handed out. */
void leat_run_complete(struct leat_run *run, struct leat_job *take_job);

/* At any time. Values out of range become the nearest that are in it. */
void leat_run_set_knobs(struct leat_run *run, const struct leat_knobs *knobs);
void leat_run_get_knobs(const struct leat_run *run, struct leat_knobs *ret_knobs);

/* Bytes that the next waiting batch needs: a slot that is smaller is not taken (see give_slot). 0:
 * none waits. */
size_t leat_run_slot_need(const struct leat_run *run);
/* The first batch that waits for a slot, or end of an epoch, once what is mapped went through the
 * order; NULL: none does. It is the run's. */
struct leat_batch_refs *leat_run_first_waiting(struct leat_run *run);
/* How many batches wait for slots. */
size_t leat_run_n_waiting(const struct leat_run *run);
/* 0; -EMSGSIZE if the waiting batch needs more than slot->size_bytes: the driver makes larger
 * slots; -ENOMEM: the driver gives up. */
int leat_run_give_slot(struct leat_run *run, const struct leat_slot *slot);
/* Slots that were given but not used, when the driver replaces its ring: takes one back. */
bool leat_run_take_slot_back(struct leat_run *run, struct leat_slot *ret_slot);

/* True if a batch could be made now, and the run has no slot for it. */
bool leat_run_lacks_slot(const struct leat_run *run);

bool leat_run_take_output(struct leat_run *run, struct leat_output *ret_output);
/* A trainer has begun that epoch: all of it may be made, and the first batches of the next one (as
 * many of each rank as `prefetch` says). */
void leat_run_reach(struct leat_run *run, uint64_t epoch);
/* Trainers would be told of so many batches at once: where `prefetch` is given, those may be made
 * besides the ones that it keeps ready. */
void leat_run_set_credit(struct leat_run *run, uint64_t n_batches);

/* What the operator should know besides: a text to be freed, or NULL. A limited number of them is
 * kept. */
char *leat_run_take_note(struct leat_run *run);

/* Which file has changed, and how: a text to be freed, or NULL. A limited number of them is kept.
 */
char *leat_run_take_change(struct leat_run *run);

/* Why all before the first step is made again: a text to be freed, or NULL: it is not. Once. */
char *leat_run_take_replay(struct leat_run *run);

/* To be called about once a second, so that what is costly to hold is given up while nothing is
 * done. True: leat_run_next_job is to be asked. */
bool leat_run_tick(struct leat_run *run);

/* If its account is over its guarantee and others need memory: gives back what is not in use. */
void leat_run_trim(struct leat_run *run);

/* The stream's failure, once everything before it was handed out; NULL: none. */
const struct leat_error *leat_run_error(const struct leat_run *run);
/* Hands out no further jobs, but for those that complete a cache of which all is made, or end
 * what is costly to hold; the driver
 * completes those that are out, goes on until it has ENDED, then frees. */
void leat_run_cancel(struct leat_run *run);

/* The cache that it has now; NULL: none. Its frames may grow with each job that is completed. */
const struct leat_cache_file *leat_run_get_cache(const struct leat_run *run);

/* From now on what happens goes there too; NULL: no more. It must outlive that, and needs now_ns.
 */
void leat_run_set_trace(struct leat_run *run, struct leat_trace *trace);

void leat_run_get_stats(const struct leat_run *run, struct leat_run_stats *ret_stats);
