/* run.h: a stream being run: a state machine that hands out jobs and takes them back. Sans-I/O.
 *
 * Whoever drives it decides where jobs run: the daemon on libuv's pool, tests inline in any
 * completion order, `leatctl run
 * --no-daemon` on one thread. All functions but leat_job_execute() are called on one thread (the
 * run's owner). The batches are a pure function of (plan, data, seed, epoch, rank, world size):
 * never of the order in which jobs complete.
 *
 *     for (;;) switch (leat_run_next_job(run, &job)) {
 *         case LEAT_RUN_JOB:        leat_job_start(job), execute anywhere, then
 *                                   leat_run_complete(run, job)
 *         case LEAT_RUN_NEEDS_SLOT: leat_run_give_slot() when one is free (batches are waiting for
 * slots) case LEAT_RUN_WAITING:    complete a job that is out case LEAT_RUN_ENDED:      all asked
 * epochs were handed out, or the run failed (leat_run_error)
 *     }
 *     leat_run_take_output() whenever it has one: batches in step order, and the end of each epoch.
 */
#pragma once

#include "pipeline/memory/spread.h"
#include "pipeline/order/output.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/histogram.h"
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
struct leat_cache_file;
struct leat_trace;

struct leat_run_options {
    uint64_t first_epoch, first_step;
    uint64_t n_epochs;            /* 0: without end */
    uint64_t n_steps;             /* end after that many batches, of all of its ranks; 0: all */
    uint64_t first_rank, n_ranks; /* of which it makes the batches; n_ranks 0 counts as 1 */
    uint64_t world_size;          /* 0 counts as 1 */
    /* Rounds of first_epoch, of world_size steps of which each rank has one, begin at steps that
     * are congruent to that modulo world_size: the position at which the trainers of all ranks
     * started. Those of later epochs begin at 0. */
    uint64_t round_phase;
    bool has_seed;
    uint64_t seed;         /* in place of the stream's own */
    int on_change;         /* enum leat_on_change; AUTO: as WARN */
    uint32_t max_map_jobs; /* blocks between scan and order at once: LEAT_BLOCKS_IN_LINE() */
    bool
        only_builds; /* no batches: the cache of the source, and the run ends when it is complete */
    bool only_places;         /* no batches: where the rows of the first one come from (places.h) */
    const char *cache_folder; /* in place of the stream's own; NULL: that */
    /* Where indexes of blocks are kept of streams that have no cache (run/index.h), unless the
     * stream says where; NULL: nowhere. */
    const char *index_folder;
    uint32_t shard, n_shards;         /* only_builds: that part of it alone; n_shards 0: all */
    uint64_t (*now_ns)(void);         /* for busy times; NULL: they stay 0 */
    uint32_t n_map_threads;           /* that execute MAP jobs; 0: unknown */
    const struct leat_opener *opener; /* outlives the run */
    struct leat_account *account;     /* outlives the run; NULL: nobody limits it */
    bool is_told;    /* leat_run_reach() says where trainers are; else what is taken of it does */
    bool is_unfused; /* each per-record stage is a job of its own; same batches */
};

/* What a line of the profile is about. Busy times do not overlap: their sum is the time that all
 * threads and the loop were busy with the run, but for what lies between stages. */
enum leat_role {
    LEAT_ROLE_SCAN,        /* SCAN jobs: reading, and cutting at records */
    LEAT_ROLE_DECODE,      /* DECODE jobs */
    LEAT_ROLE_SOURCE,      /* finding and parsing the records of a block */
    LEAT_ROLE_MAP,         /* a stage, of each block */
    LEAT_ROLE_ORDER,       /* on the run's thread: references through the order stages */
    LEAT_ROLE_COLLATE,     /* COLLATE jobs */
    LEAT_ROLE_CACHE,       /* reading blocks from the cache */
    LEAT_ROLE_CACHE_WRITE, /* making them ready for it, of each block, and CACHE jobs */
    LEAT_ROLE_QUARANTINE,  /* QUARANTINE jobs */
    LEAT_N_ROLES,
};
const char *leat_role_name(enum leat_role role);

struct leat_run_stage_stats {
    const char *name; /* the kind of source or stage; of the others that of their role */
    enum leat_role role;
    uint64_t n_records, n_bytes, busy_ns, n_errors;
    struct leat_histogram times; /* of each job or block; their sum is busy_ns */
};

/* Busy times are by the clock on the wall; what they are made of is what the driver measured, if it
 * does (leat_job_set_usage): on a processor, ready to run without getting one, or blocked, which is
 * the rest. */
struct leat_run_job_stats {
    uint64_t n_jobs, busy_ns;
    uint64_t cpu_ns, delay_ns;
    uint64_t queue_ns; /* from being handed out to being executed */
};

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
/* As they are unless somebody turns them: n_jobs is max_map_jobs. */
void leat_run_default_knobs(const struct leat_plan *plan, uint32_t n_jobs,
                            struct leat_knobs *ret_knobs);

/* Bytes that the next waiting batch needs: a slot that is smaller is not taken (see give_slot). 0:
 * none waits. */
size_t leat_run_slot_need(const struct leat_run *run);
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
