/* intake.h: what fills the queues of a run with blocks: the lanes, the cache of the source, and the
 * spans of a source that is read in random order; blocks on the way to the first step are passed
 * over.
 *
 * It hands out SCAN, DECODE and CACHE jobs and takes them back. How much is wanted is told by the
 * demand. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/horizon.h"
#include "pipeline/run/intake/cache.h"
#include "pipeline/run/intake/fast_forward.h"
#include "pipeline/run/intake/room.h"
#include "pipeline/run/intake/spans.h"
#include "pipeline/run/job_pool.h"
#include "pipeline/run/note_list.h"
#include "pipeline/work/knobs.h"

/* What the order wants at the moment. */
struct leat_demand {
    const struct leat_horizon *horizon;
    struct leat_horizon_place place;
    bool is_over;         /* The run has failed, or wants no more rows at all. */
    bool has_failed;      /* The run has failed. */
    bool is_cancelled;    /* The run was cancelled. */
    bool is_before_first; /* The next batch comes before the first that is wanted. */
    bool has_planned;     /* Batches wait for rows that are fetched. */
};

struct leat_intake {
    struct leat_plan *plan;
    const struct leat_run_options *options;
    const struct leat_knobs *knobs;
    struct leat_account *account;
    uint64_t seed;
    struct leat_job_pool *jobs;
    struct leat_row_store *store;

    struct leat_lane *lanes; /* [n_lanes] */
    size_t n_lanes;          /* one, or those that are mixed */
    struct leat_run_cache cache;
    struct leat_run_spans spans;
    struct leat_fast_forward forward;

    struct leat_note_list changes; /* of files */
    uint64_t n_source_bytes, n_source_records, n_changed_files;
    uint64_t cache_bytes; /* counted in the account */
    bool is_short;        /* In this turn less was read or mapped for want of memory. */
    bool has_new_end;     /* A pass came to its end, or was passed over, without a job. */
};

/* Begins to read; what is pointed to outlives the intake. Initializes the store. */
int leat_intake_init(struct leat_intake *intake, struct leat_plan *plan,
                     const struct leat_run_options *options, const struct leat_knobs *knobs,
                     uint64_t seed, struct leat_account *account, struct leat_job_pool *jobs,
                     struct leat_row_store *store, struct leat_error *err);
/* The queues must be empty. */
void leat_intake_deinit(struct leat_intake *intake);
/* Gives back memory that is not in use, while others need it. */
void leat_intake_trim(struct leat_intake *intake);
/* At each tick: true if it waits for memory, and is to try again. */
bool leat_intake_tick(struct leat_intake *intake, const struct leat_demand *demand);
/* Blocks of another size are read from now on. */
void leat_intake_scale(struct leat_intake *intake, uint64_t before_bytes, uint64_t after_bytes);

uint32_t leat_intake_n_blocks(const struct leat_intake *intake);
/* Bytes of what it remembers for the order. */
uint64_t leat_intake_order_bytes(const struct leat_intake *intake);
bool leat_intake_is_mixed(const struct leat_intake *intake);
/* So many epochs are wanted. */
void leat_intake_extend(struct leat_intake *intake, uint64_t n_epochs);
/* Counts what is on its way to the cache in the account. */
void leat_intake_count_cache(struct leat_intake *intake);
/* The cache's view of the lane; how much may be in memory. */
struct leat_run_cache_view leat_intake_view(const struct leat_intake *intake,
                                            struct leat_lane *lane,
                                            const struct leat_demand *demand);
struct leat_room leat_intake_room(const struct leat_intake *intake);
/* That pass of the lane is consumed from now on: what is read of the one before is not wanted, and
 * the reader goes ahead of it. */
void leat_intake_start_pass(struct leat_intake *intake, struct leat_lane *lane,
                            const struct leat_demand *demand, uint64_t epoch, uint64_t pass);

/* ---- jobs ---- */

/* A turn begins, in which jobs are asked for until there are no more. */
void leat_intake_start_turn(struct leat_intake *intake);
/* True once, if a pass came to its end without a job. */
bool leat_intake_take_end(struct leat_intake *intake);

/* The next job of each kind: 1; 0: there is none now; -errno: the run fails. */
int leat_intake_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                          struct leat_job **ret_job, struct leat_error *err);
int leat_intake_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err);
int leat_intake_decode_job(struct leat_intake *intake, struct leat_lane *lane,
                           const struct leat_demand *demand, struct leat_job **ret_job,
                           struct leat_error *err);

/* Takes a job back. 0, or -errno: the run fails. */
int leat_intake_end_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                              struct leat_job *job, struct leat_error *err);
int leat_intake_end_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err);
