/* verdict.h: what bounds a stream, who waits for whom, and what a change would give. Pure: counters
 * of an interval in, a verdict out.
 *
 * The model (pipeline/run/bound.h) says what bounds a stream, and in what range a gain lies. This
 * file tells the model what the counters say about each resource, and what a change does to it. A
 * gain is given only if everything that it depends on was measured.
 */
#pragma once

#include "pipeline/run/pipeline.h"

enum leat_bound {
    LEAT_BOUND_IDLE,        /* nobody reads it, or nothing happened */
    LEAT_BOUND_TRAINER,     /* batches are ready before they are wanted */
    LEAT_BOUND_STAGE,       /* stages use all processors, or the only one that may run them */
    LEAT_BOUND_DISK,        /* threads wait for files, or for the writer of a pipe */
    LEAT_BOUND_MEMORY,      /* memory_limit keeps blocks from being worked on at once */
    LEAT_BOUND_WORKERS,     /* all workers are busy, and there are processors for more */
    LEAT_BOUND_BLOCKS,      /* jobs_in_flight: fewer blocks than there are workers */
    LEAT_BOUND_ORDER,       /* the loop, which puts rows in order and hands out batches */
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
    uint32_t pid; /* 0: it is in another namespace */
    char client[65], unit[65];
    uint64_t present_ns, n_batches;
    uint64_t wait_ns; /* it had room, and no batch was ready */
    uint64_t idle_ns; /* the part of wait_ns in which it held no batch */
    uint64_t hold_ns; /* it held all that it may */
};

/* The counts of the interval, and the state at its end. */
struct leat_verdict_facts {
    uint64_t wall_ns;
    const char *host;
    const struct leat_verdict_trainer *trainers;
    size_t n_trainers;
    uint32_t n_sessions;                              /* trainers may lack the last ones */
    uint32_t n_runs;                                  /* that make their batches */
    uint64_t n_batches, n_rows, n_records;            /* records that were read */
    uint64_t no_slot_ns, short_ns;                    /* see struct leat_run_stats */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS]; /* with the jobs that are being executed */
    const struct leat_verdict_stage *stages;
    size_t n_stages;

    uint64_t other_busy_ns, other_cpu_ns; /* of other streams' jobs */
    uint64_t loop_cpu_ns;                 /* of all streams */
    uint64_t process_cpu_ns, trainer_cpu_ns;
    uint64_t trainer_delay_ns; /* they were ready to run, and others ran */
    uint64_t machine_cpu_ns;   /* of all processes; or LEAT_VERDICT_UNKNOWN */
    double n_cpus;
    uint32_t n_workers, n_threads; /* n_threads of them map */
    uint32_t n_more_threads;       /* n_threads with one worker more */
    uint64_t n_blocks;             /* that may be in flight; 0: unknown */
    uint64_t n_slots;              /* of its rings; 0: unknown */
    bool comes_once;               /* the source is a FIFO or another pipe */
    bool has_cache;                /* the stream has a cache */
    bool may_cache;                /* it has none, but could have one */
    double load_ns;                /* per record: reading it from the cache; 0: unknown */
    double tried_ns;               /* per record of the same trial: mapping it */
    const char *program;           /* the stage whose programs workers wait for, or NULL */
};

struct leat_gain {
    bool is_known;
    struct leat_gain_range ratio;     /* the rate with the change over that without */
    enum leat_bound next;             /* what bounds the stream then, at best */
    double least_s[LEAT_N_RESOURCES]; /* what a batch takes of each resource then, at best */
};

struct leat_verdict {
    enum leat_bound bound;
    enum leat_bound behind;                  /* what bounds the pipeline, whatever trainers do */
    const struct leat_verdict_stage *stage;  /* the one that takes the most, or NULL */
    double stage_share;                      /* its part of the busy time of all */
    const struct leat_verdict_trainer *slow; /* the stream waits for it, or NULL */
    bool waits_for_slow;                     /* the waiting trainers need slots that it holds */
    double batches_per_s, rows_per_s;
    /* Parts of the interval, 0..1: */
    double trainer;                   /* trainers had a batch, on average */
    double no_slot;                   /* a batch was ready to be made and had no slot */
    double workers;                   /* workers were busy, for any stream */
    double others;                    /* workers were busy for other streams */
    double scan;                      /* one thread read and cut */
    double scan_blocked, map_blocked; /* such jobs waited for files, of their time */
    double loop;
    double cpus, foreign_cpus; /* used by all; by other processes */
    double is_short;
    double n_queued;                  /* jobs that waited for a worker, on average */
    double least_s[LEAT_N_RESOURCES]; /* what a batch takes of each resource */
    struct leat_gain worker, cpu, cache, disk, trainers; /* trainers: if they took no time */
};

/* Parts of the time in which the trainer was connected. */
double leat_verdict_waited(const struct leat_verdict_trainer *trainer);
double leat_verdict_held(const struct leat_verdict_trainer *trainer);
void leat_verdict_make(const struct leat_verdict_facts *facts, struct leat_verdict *ret_verdict);
