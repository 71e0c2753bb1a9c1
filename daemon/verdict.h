/* verdict.h: what bounds a stream, and what it would gain. Pure: counters of an interval in, a
 * verdict out.
 *
 * The model is that of operational analysis (Denning and Buzen, The Operational Analysis of
 * Queueing Network Models, 1978): each resource (the trainer, the workers, the one thread that
 * reads, the loop, the processors, the blocks that may be in flight) was busy for so long for each
 * batch, and could make so many a second if it did nothing else; the least of these is the bound.
 * A change (one more worker) changes what one resource can do; the gain is the model's rate with it
 * over that without, so that what the model does not know of is in both.
 */
#pragma once

#include "pipeline/run/run.h"

enum leat_bound {
    LEAT_BOUND_IDLE,        /* nobody reads it, or nothing happened */
    LEAT_BOUND_TRAINER,     /* batches are ready before they are wanted */
    LEAT_BOUND_STAGE,       /* the work of stages, with all processors at it (or one, that may) */
    LEAT_BOUND_DISK,        /* threads wait for files, or for what writes into a pipe */
    LEAT_BOUND_MEMORY,      /* memory_limit keeps blocks from being worked on at once */
    LEAT_BOUND_WORKERS,     /* all workers are busy, and there are processors for more */
    LEAT_BOUND_BLOCKS,      /* jobs_in_flight: fewer blocks than there are workers */
    LEAT_BOUND_ORDER,       /* the loop, on which rows are put in order and batches handed out */
    LEAT_BOUND_OTHER_USERS, /* other streams have the workers, other processes the processors */
    LEAT_N_BOUNDS,
};
const char *leat_bound_name(enum leat_bound bound);

#define LEAT_VERDICT_UNKNOWN UINT64_MAX

struct leat_verdict_stage {
    const char *name;
    enum leat_role role;
    uint64_t busy_ns;
};

/* What happened in the interval, and how things are at its end. */
struct leat_verdict_facts {
    uint64_t wall_ns;
    uint32_t n_sessions;
    uint64_t n_batches, n_rows, n_records; /* records that were read */
    uint64_t wait_ns;              /* of all sessions together: with credit, and nothing ready */
    uint64_t no_slot_ns, short_ns; /* see struct leat_run_stats */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    const struct leat_verdict_stage *stages;
    size_t n_stages;

    uint64_t other_busy_ns, other_cpu_ns; /* of jobs of other streams */
    uint64_t loop_cpu_ns;                 /* of all streams */
    uint64_t process_cpu_ns, trainer_cpu_ns;
    uint64_t trainer_delay_ns; /* ready to run, and others did */
    uint64_t machine_cpu_ns;   /* of everybody; LEAT_VERDICT_UNKNOWN */
    double n_cpus;
    uint32_t n_workers, n_threads; /* that map; */
    uint32_t n_more_threads;       /* with one worker more */
    uint64_t n_blocks;             /* that may be in flight; 0: unknown */
    uint64_t n_slots;              /* of its rings; 0: unknown */
    bool has_cache;                /* the stream has one, or: */
    bool may_cache;                /* it could: */
    double load_ns;                /* and a record of it would take so long to read (0: unknown), */
    double tried_ns;               /* of those that now take so long to map */
    bool waits_for_programs;       /* a stage of it does: its workers are no readers of files */
};

/* What a batch needs some of: each alone could make one in so many seconds. */
enum leat_resource {
    LEAT_RESOURCE_TRAINER,
    LEAT_RESOURCE_WORKERS,
    LEAT_RESOURCE_THREADS, /* those and the one more that the pool has */
    LEAT_RESOURCE_BLOCKS,
    LEAT_RESOURCE_SCAN,
    LEAT_RESOURCE_LOOP,
    LEAT_RESOURCE_CPUS,
    LEAT_RESOURCE_SLOTS, /* that batches are collated into */
    LEAT_RESOURCE_UNKNOWN,
    LEAT_N_RESOURCES,
};
const char *leat_resource_name(enum leat_resource resource);

struct leat_gain {
    bool is_known;
    double ratio;                     /* of the rates, with it and without */
    enum leat_bound next;             /* what bounds it then */
    double least_s[LEAT_N_RESOURCES]; /* that a batch takes of each then */
};

struct leat_verdict {
    enum leat_bound bound;
    const struct leat_verdict_stage *stage; /* the one that takes most; NULL: none */
    double stage_share;                     /* of the busy time of all */
    double batches_per_s, rows_per_s;
    /* parts of the interval, 0..1 */
    double trainer;                   /* that trainers were busy with what they had, on average */
    double no_slot;                   /* that a batch could have been made and had no slot */
    double workers;                   /* of the workers' time that was worked, for anybody; */
    double others;                    /* of that for other streams */
    double scan;                      /* that one thread read and cut */
    double scan_blocked, map_blocked; /* of these jobs' time: that they waited for files */
    double loop;
    double cpus, foreign_cpus; /* of the processors' time: used; used by other processes */
    double is_short;
    double n_queued;                  /* jobs that waited for a worker, on average */
    double least_s[LEAT_N_RESOURCES]; /* that a batch takes of each */
    struct leat_gain worker, cpu, cache, disk, trainers; /* trainers: that took no time */
};

void leat_verdict_make(const struct leat_verdict_facts *facts, struct leat_verdict *ret_verdict);
