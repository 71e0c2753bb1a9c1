/* verdict.h: what bounds a stream, who waits for whom, and what a change would give. Pure: counters
 * of an interval in, a verdict out.
 *
 * What bounds, and in what range a gain lies, is the model's (pipeline/run/bound.h); here is what
 * the counters say of each resource, and what a change does to it. A gain is told only where all
 * that it depends on was measured.
 */
#pragma once

#include "pipeline/run/pipeline.h"

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

/* A trainer, and its part of the interval. */
struct leat_verdict_trainer {
    uint64_t session;
    uint32_t rank, world_size;
    uint32_t pid; /* 0: of another namespace */
    char client[65], unit[65];
    uint64_t present_ns, n_batches;
    uint64_t wait_ns; /* it had room, and nothing was ready; */
    uint64_t idle_ns; /* of that: and it held no batch either */
    uint64_t hold_ns; /* it held all that it may */
};

/* What happened in the interval, and how things are at its end. */
struct leat_verdict_facts {
    uint64_t wall_ns;
    const char *host;
    const struct leat_verdict_trainer *trainers;
    size_t n_trainers;
    uint32_t n_sessions;                   /* of which the last ones may not be among these */
    uint32_t n_runs;                       /* that make their batches */
    uint64_t n_batches, n_rows, n_records; /* records that were read */
    uint64_t no_slot_ns, short_ns;         /* see struct leat_run_stats */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS]; /* and what is being executed so far */
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
    bool comes_once;               /* it is read from a FIFO or the like */
    bool has_cache;                /* the stream has one, or: */
    bool may_cache;                /* it could: */
    double load_ns;                /* and a record of it would take so long to read (0: unknown), */
    double tried_ns;               /* of those that now take so long to map */
    const char *program;           /* the stage whose programs workers wait for; NULL: none */
};

struct leat_gain {
    bool is_known;
    struct leat_gain_range ratio;     /* of the rates, with it and without */
    enum leat_bound next;             /* what bounds it then, at best */
    double least_s[LEAT_N_RESOURCES]; /* that a batch takes of each then, at best */
};

struct leat_verdict {
    enum leat_bound bound;
    enum leat_bound behind;                  /* what bounds the pipeline, whatever trainers do */
    const struct leat_verdict_stage *stage;  /* the one that takes most; NULL: none */
    double stage_share;                      /* of the busy time of all */
    const struct leat_verdict_trainer *slow; /* whom the stream waits for; NULL: nobody */
    bool waits_for_slow; /* the trainers that wait do so for the slots that it has */
    double batches_per_s, rows_per_s;
    /* parts of the interval, 0..1 */
    double trainer;                   /* that trainers had what they wanted, on average */
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

/* Of the time that it was there. */
double leat_verdict_waited(const struct leat_verdict_trainer *trainer);
double leat_verdict_held(const struct leat_verdict_trainer *trainer);
void leat_verdict_make(const struct leat_verdict_facts *facts, struct leat_verdict *ret_verdict);
