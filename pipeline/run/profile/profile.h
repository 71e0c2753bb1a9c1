/* profile.h: where the time of a run goes: a line for each kind of work.
 *
 * A job measures itself and its stages, and the profile adds that up when the job is back. Nothing
 * is counted per record, and nothing is shared with workers. Without a clock all times stay 0.
 * Owner: the run's thread.
 */
#pragma once

#include <stdbool.h>

#include "pipeline/run/profile/figures.h"
#include "pipeline/run/profile/histogram.h"
#include "pipeline/work/job_kind.h"
#include "proto/base/error.h"

struct leat_job;
struct leat_plan;
struct leat_stage_count;

/* The work of a line. Busy times do not overlap: their sum is the time that threads and loop spent
 * on the run, except between stages. */
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
    struct leat_stage_figures figures;
    struct leat_histogram times; /* of each job or block; their sum is busy_ns */
};

/* Busy times are wall-clock times. If the driver measures (leat_job_set_usage), they consist of
 * time on a processor (cpu), time ready without a processor (delay), and the rest, which was
 * blocked. */
struct leat_run_job_stats {
    uint64_t n_jobs, busy_ns;
    uint64_t cpu_ns, delay_ns;
    uint64_t queue_ns; /* from being handed out to being executed */
};

/* Adds the stats of all kinds of jobs: [LEAT_N_JOB_KINDS] each. */
void leat_job_stats_add(struct leat_run_job_stats *sums, const struct leat_run_job_stats *more);

/* The time for which a condition held. */
struct leat_time_span {
    uint64_t sum_ns, since_ns;
    bool is_on;
};

struct leat_profile {
    struct leat_run_stage_stats *lines;
    size_t n_lines, n_map;
    bool has_cache;
    uint16_t line_of[LEAT_N_ROLES]; /* the first of that role */
    struct leat_run_job_stats jobs[LEAT_N_JOB_KINDS];
    uint64_t n_made_blocks, n_made_bytes; /* of the source; others came from the cache */
    uint64_t (*now_ns)(void);
    uint64_t start_ns, end_ns; /* end 0: the run goes on */
    struct leat_time_span no_slot, is_short;
};

/* now_ns NULL: there is no clock. */
int leat_profile_init(struct leat_profile *profile, const struct leat_plan *plan, bool has_cache,
                      uint64_t (*now_ns)(void), struct leat_error *err);
void leat_profile_deinit(struct leat_profile *profile);
/* 0 without a clock. */
uint64_t leat_profile_now(const struct leat_profile *profile);

/* Adds a job that is back. Call it before results are taken from the job. */
void leat_profile_add_job(struct leat_profile *profile, const struct leat_job *job);
/* Adds rows that went through the order on the run's thread. */
void leat_profile_add_order(struct leat_profile *profile, uint64_t n_rows, uint64_t busy_ns);
/* Call it after each change. lacks_slot: a batch only lacks a slot; is_short: less is read or
 * mapped at once for want of memory. */
void leat_profile_watch(struct leat_profile *profile, bool has_ended, bool lacks_slot,
                        bool is_short);
/* Sets lifetime_ns, no_slot_ns and short_ns. */
void leat_profile_get_times(const struct leat_profile *profile,
                            struct leat_stream_figures *figures);
