/* job_pool.h: the jobs of a run, and the scratch memory and workspaces of its MAP jobs, which are
 * used again and counted in the run's account. Says how many MAP jobs may be out.
 *
 * A stage may hold something costly in its workspaces, as `exec` holds programs. An IDLE job lets
 * it give that up (workspace_idle) when no job ran for a while, and at the end. Owner: the run's
 * thread.
 */
#pragma once

#include "pipeline/run/options.h"
#include "pipeline/work/job.h"

/* The memory of one MAP job. */
struct leat_scratch {
    struct leat_scratch *next;
    struct leat_arena arena;
    struct leat_arena made; /* where a block is made, before it moves to an arena that fits */
    uint64_t counted_bytes;
};

struct leat_job_pool {
    const struct leat_plan *plan;
    struct leat_account *account;
    struct leat_leftovers *leftovers; /* where scratch memory goes; NULL: back at once */
    uint64_t (*now_ns)(void);
    bool is_unfused;

    struct leat_job *free_jobs;
    uint32_t n_out; /* jobs */

    struct leat_scratch *free_scratch;
    uint64_t scratch_estimate, scratch_bytes; /* bytes of the next one; of all */
    struct leat_workspace *free_workspaces;
    uint64_t workspace_bytes, n_workspaces; /* bytes of each, as the stages say */
    uint32_t map_limit;                     /* MAP jobs that may be out */
    uint32_t n_at_once;                     /* MAP jobs that may be executed at once */
    uint32_t n_maps_out, n_parked;

    bool can_idle; /* A stage has workspace_idle. */
    bool idle_is_due, idle_is_out, has_ended;
};

void leat_job_pool_init(struct leat_job_pool *pool, const struct leat_plan *plan,
                        struct leat_account *account, const struct leat_run_options *options,
                        uint64_t n_jobs_knob);
/* No job may be out. */
void leat_job_pool_deinit(struct leat_job_pool *pool);
/* Gives back unused scratch memory. */
void leat_job_pool_trim(struct leat_job_pool *pool);
/* Adapts the estimate to another size of blocks. */
void leat_job_pool_scale(struct leat_job_pool *pool, uint64_t before_bytes, uint64_t after_bytes);

/* NULL: no memory. */
struct leat_job *leat_job_pool_take(struct leat_job_pool *pool, enum leat_job_kind kind,
                                    uint32_t lane);
void leat_job_pool_give(struct leat_job_pool *pool, struct leat_job *job);

/* True if another MAP job may be out. */
bool leat_job_pool_may_map(const struct leat_job_pool *pool);
/* True if MAP jobs are out, or parked. */
bool leat_job_pool_has_maps(const struct leat_job_pool *pool);
/* True if another block may be begun. Each one has scratch memory until all its stages are done. */
bool leat_job_pool_may_begin(const struct leat_job_pool *pool);
/* True if another MAP job finds a workspace, or memory for one. */
bool leat_job_pool_has_workspace(const struct leat_job_pool *pool);
/* Bytes of scratch memory that n_blocks need beyond what the pool has. */
uint64_t leat_job_pool_growth(const struct leat_job_pool *pool, size_t n_blocks);
/* Counts a MAP job that is handed out, with its large_bytes. */
void leat_job_pool_count_map(struct leat_job_pool *pool, const struct leat_job *job);
/* Gives a MAP job that is about to be executed a workspace and scratch memory. */
void leat_job_pool_start_map(struct leat_job_pool *pool, struct leat_job *job);
/* Takes these back from a MAP job that is done, or dropped while parked. */
void leat_job_pool_end_map(struct leat_job_pool *pool, struct leat_job *job);
/* Keeps a MAP job that has stages left, without its workspace; lets it go on. */
void leat_job_pool_park(struct leat_job_pool *pool, struct leat_job *job);
void leat_job_pool_unpark(struct leat_job_pool *pool);

/* True if an IDLE job is due; is_final: the run has ended. */
bool leat_job_pool_wants_idle(const struct leat_job_pool *pool, bool is_final);
/* Fills a job with all free workspaces; takes them back. */
void leat_job_pool_start_idle(struct leat_job_pool *pool, struct leat_idle_job *ret_job,
                              bool is_final);
void leat_job_pool_end_idle(struct leat_job_pool *pool, struct leat_idle_job *job);
