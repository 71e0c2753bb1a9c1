/* job_pool.h: the jobs of a run, and what MAP jobs share: scratch memory and workspaces, used again
 * and again and counted in the run's account; how many of them may be out; and workspaces that are
 * idle.
 *
 * A stage may hold something costly in its workspaces, as `exec` holds programs (workspace_rest):
 * it gives it up when nothing is done for a while, and at the end. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/options.h"
#include "pipeline/work/job.h"

/* The memory of one MAP job. */
struct leat_scratch {
    struct leat_scratch *next;
    struct leat_arena arena;
    struct leat_arena made; /* where blocks are made, before they move to one that fits them */
    uint64_t counted_bytes;
};

struct leat_job_pool {
    const struct leat_plan *plan;
    struct leat_account *account;
    uint64_t (*now_ns)(void);
    bool is_unfused;

    struct leat_job *free_jobs;
    uint32_t n_out; /* jobs */

    struct leat_scratch *free_scratch;
    uint64_t scratch_estimate, scratch_bytes; /* of the next; counted of all */
    struct leat_workspace *free_workspaces;
    uint64_t workspace_bytes, n_workspaces; /* of each, as the stages say */
    uint32_t map_limit;                     /* MAP jobs that may be out */
    uint32_t n_at_once;                     /* that may be executed at the same time */
    uint32_t n_maps_out, n_parked;

    bool can_idle; /* Some stage holds something costly. */
    bool idle_is_due, idle_is_out, has_ended;
};

void leat_job_pool_init(struct leat_job_pool *pool, const struct leat_plan *plan,
                        struct leat_account *account, const struct leat_run_options *options,
                        uint64_t n_jobs_knob);
/* No job may be out. */
void leat_job_pool_deinit(struct leat_job_pool *pool);
/* Gives back scratch memory that is not in use. */
void leat_job_pool_trim(struct leat_job_pool *pool);
/* Blocks will be of another size. */
void leat_job_pool_scale(struct leat_job_pool *pool, uint64_t before_bytes, uint64_t after_bytes);

/* NULL: no memory. */
struct leat_job *leat_job_pool_take(struct leat_job_pool *pool, enum leat_job_kind kind,
                                    uint32_t lane);
void leat_job_pool_give(struct leat_job_pool *pool, struct leat_job *job);

/* ---- MAP ---- */

/* True if one more MAP job may be out. */
bool leat_job_pool_may_map(const struct leat_job_pool *pool);
/* True if MAP jobs are out, or parked. */
bool leat_job_pool_has_maps(const struct leat_job_pool *pool);
/* True if one more block may be begun: each has scratch memory until all of its stages are done. */
bool leat_job_pool_may_begin(const struct leat_job_pool *pool);
/* True if there is a workspace for one more MAP job, or memory for one. */
bool leat_job_pool_has_workspace(const struct leat_job_pool *pool);
/* Bytes of scratch memory that so many blocks would need beyond what there is. */
uint64_t leat_job_pool_growth(const struct leat_job_pool *pool, size_t n_blocks);
/* Counts a MAP job that is handed out, and the bytes that it takes for a large piece. */
void leat_job_pool_count_map(struct leat_job_pool *pool, const struct leat_job *job);
/* Right before a MAP job is executed: gives it a workspace and scratch memory. */
void leat_job_pool_start_map(struct leat_job_pool *pool, struct leat_job *job);
/* Takes back what a MAP job has, which is done, or is given up while parked. */
void leat_job_pool_end_map(struct leat_job_pool *pool, struct leat_job *job);
/* A MAP job that has stages left waits without a workspace; it goes on. */
void leat_job_pool_park(struct leat_job_pool *pool, struct leat_job *job);
void leat_job_pool_unpark(struct leat_job_pool *pool);

/* ---- idle workspaces ---- */

/* Nothing was done for a while: workspaces may idle. */
void leat_job_pool_tick(struct leat_job_pool *pool);
/* True if workspaces are to idle now; for_good: the run has ended. */
bool leat_job_pool_wants_idle(const struct leat_job_pool *pool, bool for_good);
/* Fills a job with all workspaces that are free; takes them back. */
void leat_job_pool_start_idle(struct leat_job_pool *pool, struct leat_rest_job *ret_job,
                              bool for_good);
void leat_job_pool_end_idle(struct leat_job_pool *pool, struct leat_rest_job *job);
