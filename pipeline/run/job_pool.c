#include "pipeline/run/job_pool.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/memory/budget.h"
#include "pipeline/run/intake/estimate.h"
#include "pipeline/work/memory_plan.h"

/* ---- life ---- */

static void set_limits(struct leat_job_pool *pool, uint32_t n_threads, uint64_t n_jobs_knob) {
    const struct leat_plan *plan = pool->plan;

    pool->map_limit = UINT32_MAX;
    for (size_t i = 0; i < plan->n_map; i++) {
        const struct leat_plan_stage *stage = plan->map[i];
        uint32_t n = stage->ops->max_jobs ? stage->ops->max_jobs(stage->config) : UINT32_MAX;

        pool->map_limit = n < pool->map_limit ? n : pool->map_limit;
        pool->can_idle = pool->can_idle || stage->ops->workspace_idle;
    }
    pool->n_at_once = n_threads > 0 ? n_threads : (uint32_t)n_jobs_knob + 1;
    if (pool->map_limit < pool->n_at_once)
        pool->n_at_once = pool->map_limit;
    if (n_threads == 0) /* All jobs that are out may be executed at once. */
        pool->map_limit = pool->n_at_once;
}

void leat_job_pool_init(struct leat_job_pool *pool, const struct leat_plan *plan,
                        struct leat_account *account, const struct leat_run_options *options,
                        uint64_t n_jobs_knob) {
    struct leat_memory_plan needs;

    leat_memory_plan(plan, 0, &needs);
    *pool = (struct leat_job_pool){
        .plan = plan,
        .account = account,
        .now_ns = options->now_ns,
        .is_unfused = options->is_unfused,
        .scratch_estimate = needs.scratch_bytes,
        .workspace_bytes = needs.workspace_bytes,
    };
    set_limits(pool, options->n_map_threads, n_jobs_knob);
}

static void count_scratch(struct leat_job_pool *pool, struct leat_scratch *scratch) {
    uint64_t bytes = scratch->arena.capacity_bytes + scratch->made.capacity_bytes;

    leat_account_change(pool->account, LEAT_MEMORY_SCRATCH, scratch->counted_bytes, bytes);
    pool->scratch_bytes += bytes - scratch->counted_bytes;
    scratch->counted_bytes = bytes;
}

static void free_scratch(struct leat_job_pool *pool, struct leat_scratch *scratch) {
    if (pool->leftovers) {
        pool->leftovers->n_bytes[LEAT_MEMORY_SCRATCH] += scratch->counted_bytes;
        leat_arena_leave(&scratch->arena, pool->leftovers);
        leat_arena_leave(&scratch->made, pool->leftovers);
    } else {
        leat_arena_deinit(&scratch->arena);
        leat_arena_deinit(&scratch->made);
        count_scratch(pool, scratch);
    }
    free(scratch);
}

void leat_job_pool_trim(struct leat_job_pool *pool) {
    while (pool->free_scratch) {
        struct leat_scratch *scratch = pool->free_scratch;

        pool->free_scratch = scratch->next;
        free_scratch(pool, scratch);
    }
}

void leat_job_pool_scale(struct leat_job_pool *pool, uint64_t before_bytes, uint64_t after_bytes) {
    leat_estimate_scale(&pool->scratch_estimate, before_bytes, after_bytes);
}

static void free_workspace(struct leat_job_pool *pool, struct leat_workspace *workspace) {
    leat_workspace_free(workspace, pool->plan);
    leat_account_change(pool->account, LEAT_MEMORY_WORKSPACES, pool->workspace_bytes, 0);
    pool->n_workspaces--;
}

void leat_job_pool_deinit(struct leat_job_pool *pool) {
    while (pool->free_jobs) {
        struct leat_job *job = pool->free_jobs;

        pool->free_jobs = job->next;
        leat_account_change(pool->account, LEAT_MEMORY_SCRATCH, sizeof(*job), 0);
        free(job);
    }
    leat_job_pool_trim(pool);
    while (pool->free_workspaces) {
        struct leat_workspace *workspace = pool->free_workspaces;

        pool->free_workspaces = workspace->next;
        free_workspace(pool, workspace);
    }
}

/* ---- jobs ---- */

static struct leat_job *new_job(struct leat_job_pool *pool) {
    struct leat_job *job = malloc(sizeof(*job));

    if (job)
        leat_account_change(pool->account, LEAT_MEMORY_SCRATCH, 0, sizeof(*job));
    return job;
}

struct leat_job *leat_job_pool_take(struct leat_job_pool *pool, enum leat_job_kind kind,
                                    uint32_t lane) {
    struct leat_job *job = pool->free_jobs;

    if (job)
        pool->free_jobs = job->next;
    else
        job = new_job(pool);
    if (!job)
        return NULL;
    memset(job, 0, offsetof(struct leat_job, scan));
    job->kind = kind;
    job->pool = pool;
    job->lane = lane;
    job->error = LEAT_ERROR_INIT;
    job->now_ns = pool->now_ns;
    pool->n_out++;
    return job;
}

void leat_job_pool_give(struct leat_job_pool *pool, struct leat_job *job) {
    job->next = pool->free_jobs;
    pool->free_jobs = job;
    pool->n_out--;
}

/* ---- workspaces and scratch memory ---- */

static struct leat_workspace *take_workspace(struct leat_job_pool *pool) {
    struct leat_workspace *workspace = pool->free_workspaces;

    leat_account_count(pool->account, LEAT_MEMORY_WORKSPACES, workspace != NULL);
    if (workspace) {
        pool->free_workspaces = workspace->next;
        return workspace;
    }
    workspace = leat_workspace_new(pool->plan);
    if (!workspace)
        return NULL;
    leat_account_change(pool->account, LEAT_MEMORY_WORKSPACES, 0, pool->workspace_bytes);
    pool->n_workspaces++;
    return workspace;
}

/* The last one back is the first to go out again, as it is the warmest. After a large piece it is
 * freed, with what stages keep for the longest text. */
static void give_workspace(struct leat_job_pool *pool, struct leat_workspace *workspace,
                           bool was_large) {
    if (!workspace)
        return;
    if (!pool->can_idle &&
        (was_large || (pool->n_workspaces > 1 && leat_account_should_shrink(pool->account)))) {
        free_workspace(pool, workspace);
        return;
    }
    workspace->next = pool->free_workspaces;
    pool->free_workspaces = workspace;
}

static struct leat_scratch *take_scratch(struct leat_job_pool *pool) {
    struct leat_scratch *scratch = pool->free_scratch;

    leat_account_count(pool->account, LEAT_MEMORY_SCRATCH, scratch != NULL);
    if (!scratch)
        return calloc(1, sizeof(*scratch));
    pool->free_scratch = scratch->next;
    return scratch;
}

static struct leat_scratch *scratch_of(struct leat_arena *arena) {
    return (struct leat_scratch *)((char *)arena - offsetof(struct leat_scratch, arena));
}

static void give_scratch(struct leat_job_pool *pool, struct leat_arena *arena, bool was_large) {
    struct leat_scratch *scratch = scratch_of(arena);

    count_scratch(pool, scratch);
    if (!was_large)
        leat_estimate_learn(&pool->scratch_estimate, scratch->counted_bytes);
    if (leat_account_should_shrink(pool->account)) {
        free_scratch(pool, scratch);
        return;
    }
    leat_arena_reset(arena);
    leat_arena_reset(&scratch->made);
    count_scratch(pool, scratch);
    scratch->next = pool->free_scratch;
    pool->free_scratch = scratch;
}

/* ---- MAP ---- */

bool leat_job_pool_may_map(const struct leat_job_pool *pool) {
    return pool->n_maps_out < pool->map_limit;
}

bool leat_job_pool_has_maps(const struct leat_job_pool *pool) {
    return pool->n_maps_out + pool->n_parked > 0;
}

bool leat_job_pool_may_begin(const struct leat_job_pool *pool) {
    return !pool->is_unfused || pool->n_maps_out + pool->n_parked < pool->n_at_once;
}

bool leat_job_pool_has_workspace(const struct leat_job_pool *pool) {
    uint64_t n = pool->n_maps_out < pool->n_at_once ? pool->n_maps_out + 1 : pool->n_at_once;

    return pool->n_maps_out == 0 || n <= pool->n_workspaces ||
           leat_account_may_grow(pool->account, (n - pool->n_workspaces) * pool->workspace_bytes);
}

uint64_t leat_job_pool_growth(const struct leat_job_pool *pool, size_t n_blocks) {
    uint64_t n = n_blocks < pool->n_at_once ? n_blocks : pool->n_at_once;
    uint64_t needed = n * pool->scratch_estimate;

    return needed > pool->scratch_bytes ? needed - pool->scratch_bytes : 0;
}

void leat_job_pool_count_map(struct leat_job_pool *pool, const struct leat_job *job) {
    leat_account_change(pool->account, LEAT_MEMORY_SCRATCH, 0, job->map.large_bytes);
    pool->n_maps_out++;
}

/* Lets the block be made in memory that stays warm. It moves to its own arena afterwards. */
static void lend_made(struct leat_map_job *map, struct leat_scratch *scratch) {
    struct leat_arena had = map->block->kept;

    if (map->gather) /* The rows go to other blocks. */
        return;
    map->block->kept = scratch->made;
    scratch->made = had;
    map->spare = &scratch->made;
}

void leat_job_pool_start_map(struct leat_job_pool *pool, struct leat_job *job) {
    size_t n_bytes = (LEAT_COUNT_STAGES + pool->plan->n_map) * sizeof(struct leat_stage_count);
    struct leat_scratch *scratch;

    if (job->map.counts) { /* The job was parked, and its counts were added up. */
        memset(job->map.counts, 0, n_bytes);
        job->map.workspace = take_workspace(pool);
        return;
    }
    scratch = take_scratch(pool);
    job->map.scratch = scratch ? &scratch->arena : NULL;
    job->map.counts = scratch ? leat_arena_alloc(&scratch->arena, n_bytes) : NULL;
    if (!job->map.counts)
        return;
    memset(job->map.counts, 0, n_bytes);
    lend_made(&job->map, scratch);
    job->map.workspace = take_workspace(pool);
}

static void take_back(struct leat_job_pool *pool, struct leat_job *job) {
    bool is_large = job->map.large_bytes > 0;

    leat_account_change(pool->account, LEAT_MEMORY_SCRATCH, job->map.large_bytes, 0);
    if (job->map.scratch)
        give_scratch(pool, job->map.scratch, is_large);
    give_workspace(pool, job->map.workspace, is_large);
}

void leat_job_pool_end_map(struct leat_job_pool *pool, struct leat_job *job) {
    pool->n_maps_out--;
    take_back(pool, job);
}

void leat_job_pool_park(struct leat_job_pool *pool, struct leat_job *job) {
    leat_block_recount(job->map.block);
    count_scratch(pool, scratch_of(job->map.scratch));
    give_workspace(pool, job->map.workspace, job->map.large_bytes > 0);
    job->map.workspace = NULL;
    job->map.is_partial = false;
    pool->n_maps_out--;
    pool->n_parked++;
    pool->n_out--;
}

void leat_job_pool_unpark(struct leat_job_pool *pool) {
    pool->n_parked--;
    pool->n_maps_out++;
    pool->n_out++;
}

/* ---- idle workspaces ---- */

bool leat_job_pool_wants_idle(const struct leat_job_pool *pool, bool is_final) {
    return pool->can_idle && !pool->idle_is_out && pool->free_workspaces &&
           (is_final ? pool->n_out == 0 && !pool->has_ended : pool->idle_is_due);
}

void leat_job_pool_start_idle(struct leat_job_pool *pool, struct leat_idle_job *ret_job,
                              bool is_final) {
    *ret_job = (struct leat_idle_job){
        .plan = pool->plan, .workspaces = pool->free_workspaces, .is_final = is_final};
    pool->free_workspaces = NULL;
    pool->idle_is_out = true;
    pool->idle_is_due = false;
    pool->has_ended = is_final;
}

void leat_job_pool_end_idle(struct leat_job_pool *pool, struct leat_idle_job *job) {
    struct leat_workspace **last = &pool->free_workspaces;

    while (*last)
        last = &(*last)->next;
    *last = job->workspaces;
    pool->idle_is_out = false;
}
