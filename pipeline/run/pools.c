/* run/pools.c: see run/pools.h. */
#include "pipeline/run/pools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run_internal.h"
#include "pipeline/work/memory_plan.h"

/* ---- life ---- */

void leat_run_pools_init(struct leat_run *run) {
    struct leat_run_memory *memory = &run->memory;
    struct leat_memory_plan plan;

    leat_memory_plan(run->plan, 0, 0, 0, &plan);
    memory->workspace_bytes = plan.workspace_bytes;
    memory->buffer_estimate = (uint64_t)run->plan->options.block_bytes;
    memory->block_estimate = plan.block_bytes - memory->buffer_estimate;
    memory->scratch_estimate = plan.scratch_bytes;
    memory->account = run->options.account;
    if (!memory->account) {
        leat_budget_init(&memory->own_budget, UINT64_MAX);
        (void)leat_account_open(&memory->own_account, &memory->own_budget, 0);
        memory->account = &memory->own_account;
    }
    run->blocks.account = memory->account;
    for (size_t i = 0; i < run->plan->n_order; i++)
        run->blocks.keeps_most |= run->plan->order[i]->ops->has_windows;
}

static void free_buffer(struct leat_run *run, struct leat_buffer *buffer) {
    leat_account_change(run->memory.account, LEAT_MEMORY_SOURCE, buffer->counted_bytes, 0);
    free(buffer->data);
    free(buffer);
}

static void trim_buffers(struct leat_run *run) {
    while (run->free_buffers) {
        struct leat_buffer *buffer = run->free_buffers;

        run->free_buffers = buffer->next;
        run->memory.free_buffer_bytes -= buffer->counted_bytes;
        free_buffer(run, buffer);
    }
}

static void count_scratch(struct leat_run *run, struct leat_scratch *scratch) {
    uint64_t bytes = scratch->arena.capacity_bytes + scratch->made.capacity_bytes;

    leat_account_change(run->memory.account, LEAT_MEMORY_SCRATCH, scratch->counted_bytes, bytes);
    run->memory.scratch_total_bytes += bytes - scratch->counted_bytes;
    scratch->counted_bytes = bytes;
}

static void free_scratch(struct leat_run *run, struct leat_scratch *scratch) {
    leat_arena_deinit(&scratch->arena);
    leat_arena_deinit(&scratch->made);
    count_scratch(run, scratch);
    free(scratch);
}

static void trim_scratch(struct leat_run *run) {
    while (run->free_scratch) {
        struct leat_scratch *scratch = run->free_scratch;

        run->free_scratch = scratch->next;
        free_scratch(run, scratch);
    }
}

static void free_workspace(struct leat_run *run, struct leat_workspace *workspace) {
    leat_workspace_free(workspace, run->plan);
    leat_account_change(run->memory.account, LEAT_MEMORY_WORKSPACES, run->memory.workspace_bytes,
                        0);
    run->memory.n_workspaces--;
}

void leat_run_trim(struct leat_run *run) {
    if (!leat_account_should_shrink(run->memory.account))
        return;
    trim_buffers(run);
    trim_scratch(run);
    leat_block_pool_trim(&run->blocks);
    for (size_t i = 0; i < run->n_lanes; i++)
        leat_run_trim(run->lanes[i]);
}

void leat_run_pools_deinit(struct leat_run *run) {
    struct leat_run_memory *memory = &run->memory;

    while (run->free_jobs) {
        struct leat_job *job = run->free_jobs;

        run->free_jobs = job->next;
        leat_account_change(memory->account, LEAT_MEMORY_SCRATCH, sizeof(*job), 0);
        free(job);
    }
    trim_buffers(run);
    trim_scratch(run);
    while (run->free_workspaces) {
        struct leat_workspace *workspace = run->free_workspaces;

        run->free_workspaces = workspace->next;
        free_workspace(run, workspace);
    }
    leat_block_pool_deinit(&run->blocks);
    leat_account_change(memory->account, LEAT_MEMORY_CACHE, memory->cache_bytes, 0);
    leat_account_change(memory->account, LEAT_MEMORY_ORDER, memory->order_bytes, 0);
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, memory->carry_bytes, 0);
    leat_account_want(memory->account, 0);
    leat_account_close(&memory->own_account);
}

/* ---- jobs and buffers ---- */

static struct leat_job *new_job(struct leat_run *run) {
    struct leat_job *job = malloc(sizeof(*job));

    if (job)
        leat_account_change(run->memory.account, LEAT_MEMORY_SCRATCH, 0, sizeof(*job));
    return job;
}

struct leat_job *leat_run_take_job(struct leat_run *run, enum leat_job_kind kind) {
    struct leat_job *job = run->free_jobs;

    if (job)
        run->free_jobs = job->next;
    else
        job = new_job(run);
    if (!job)
        return NULL;
    memset(job, 0, offsetof(struct leat_job, scan));
    job->kind = kind;
    job->run = run;
    job->error = LEAT_ERROR_INIT;
    job->now_ns = run->options.now_ns;
    run->n_jobs++;
    if (run->whole)
        run->whole->n_jobs++;
    return job;
}

void leat_run_give_job(struct leat_run *run, struct leat_job *job) {
    job->next = run->free_jobs;
    run->free_jobs = job;
    run->n_jobs--;
    if (run->whole)
        run->whole->n_jobs--;
}

struct leat_buffer *leat_run_take_buffer(struct leat_run *run) {
    struct leat_buffer *buffer = run->free_buffers;

    leat_account_count(run->memory.account, LEAT_MEMORY_SOURCE, buffer != NULL);
    if (!buffer)
        return calloc(1, sizeof(*buffer));
    run->free_buffers = buffer->next;
    run->memory.free_buffer_bytes -= buffer->counted_bytes;
    return buffer;
}

static bool is_large(const struct leat_run *run, const struct leat_buffer *buffer) {
    return buffer->capacity > (size_t)run->plan->options.block_bytes &&
           run->memory.account->budget->limit_bytes != UINT64_MAX;
}

void leat_run_give_buffer(struct leat_run *run, struct leat_buffer *buffer) {
    if (!buffer)
        return;
    if (is_large(run, buffer) || leat_account_should_shrink(run->memory.account)) {
        free_buffer(run, buffer);
        return;
    }
    buffer->next = run->free_buffers;
    run->free_buffers = buffer;
    run->memory.free_buffer_bytes += buffer->counted_bytes;
}

/* The next will be like the latest, or somewhat like the largest before. */
static void learn(uint64_t *estimate, uint64_t latest) {
    uint64_t before = *estimate - *estimate / 16;

    *estimate = latest > before ? latest : before;
}

static void count_buffer(struct leat_run *run, struct leat_buffer *buffer) {
    if (!buffer)
        return;
    leat_account_change(run->memory.account, LEAT_MEMORY_SOURCE, buffer->counted_bytes,
                        buffer->capacity);
    buffer->counted_bytes = buffer->capacity;
    if (buffer->capacity > 0 && !is_large(run, buffer))
        learn(&run->memory.buffer_estimate, buffer->capacity);
}

void leat_run_count_scan(struct leat_run *run, struct leat_scan_job *scan) {
    uint64_t carry_bytes = run->scan.carry_capacity;

    for (size_t i = 0; i < scan->n_pieces; i++) {
        count_buffer(run, scan->buffers[i]);
        count_buffer(run, scan->pieces[i].buffer);
    }
    leat_account_change(run->memory.account, LEAT_MEMORY_SOURCE,
                        run->memory.carry_bytes + run->memory.scan_reserved, carry_bytes);
    run->memory.carry_bytes = carry_bytes;
    run->memory.scan_reserved = 0;
    run->memory.scan_wants = scan->wants_bytes;
}

void leat_run_count_cache(struct leat_run *run) {
    uint64_t bytes = leat_run_cache_n_bytes(run);

    leat_account_change(run->memory.account, LEAT_MEMORY_CACHE, run->memory.cache_bytes, bytes);
    run->memory.cache_bytes = bytes;
}

/* What it remembers of records, and references to them; and bad ones that are to be written. */
void leat_run_count_order(struct leat_run *run) {
    uint64_t bytes = leat_order_bytes(&run->order) + run->collate_bytes +
                     run->blocks.n_bundle_bytes + run->quarantine.capacity +
                     leat_residents_bytes(run) + leat_run_spans_bytes(run);

    for (size_t i = 0; i < run->n_lanes; i++)
        bytes += run->lanes[i]->blocks.n_bundle_bytes;
    leat_account_change(run->memory.account, LEAT_MEMORY_ORDER, run->memory.order_bytes, bytes);
    run->memory.order_bytes = bytes;
}

/* ---- MAP ---- */

static struct leat_workspace *take_workspace(struct leat_run *run) {
    struct leat_workspace *workspace = run->free_workspaces;

    leat_account_count(run->memory.account, LEAT_MEMORY_WORKSPACES, workspace != NULL);
    if (workspace) {
        run->free_workspaces = workspace->next;
        return workspace;
    }
    workspace = leat_workspace_new(run->plan);
    if (!workspace)
        return NULL;
    leat_account_change(run->memory.account, LEAT_MEMORY_WORKSPACES, 0,
                        run->memory.workspace_bytes);
    run->memory.n_workspaces++;
    return workspace;
}

/* The last one back is the first to go out again: it is the warmest. */
static void give_workspace(struct leat_run *run, struct leat_workspace *workspace, bool was_large) {
    if (!workspace)
        return;
    if (!run->can_rest && (was_large || (run->memory.n_workspaces > 1 &&
                                         leat_account_should_shrink(run->memory.account)))) {
        free_workspace(run, workspace);
        return;
    }
    workspace->next = run->free_workspaces;
    run->free_workspaces = workspace;
}

static struct leat_scratch *take_scratch(struct leat_run *run) {
    struct leat_scratch *scratch = run->free_scratch;

    leat_account_count(run->memory.account, LEAT_MEMORY_SCRATCH, scratch != NULL);
    if (!scratch)
        return calloc(1, sizeof(*scratch));
    run->free_scratch = scratch->next;
    return scratch;
}

static struct leat_scratch *scratch_of(struct leat_arena *arena) {
    return (struct leat_scratch *)((char *)arena - offsetof(struct leat_scratch, arena));
}

static void give_scratch(struct leat_run *run, struct leat_arena *arena, bool was_large) {
    struct leat_scratch *scratch = scratch_of(arena);

    count_scratch(run, scratch);
    if (!was_large)
        learn(&run->memory.scratch_estimate, scratch->counted_bytes);
    if (leat_account_should_shrink(run->memory.account)) {
        free_scratch(run, scratch);
        return;
    }
    leat_arena_reset(arena);
    leat_arena_reset(&scratch->made);
    count_scratch(run, scratch);
    scratch->next = run->free_scratch;
    run->free_scratch = scratch;
}

/* The block is made in memory that stays warm; what it had is left for it to move to. */
static void lend_made(struct leat_map_job *map, struct leat_scratch *scratch) {
    struct leat_arena had = map->block->kept;

    if (map->gather) /* its block is not what comes of it */
        return;
    map->block->kept = scratch->made;
    scratch->made = had;
    map->spare = &scratch->made;
}

void leat_run_start_map(struct leat_run *run, struct leat_job *job) {
    size_t n_bytes = (LEAT_COUNT_STAGES + run->plan->n_map) * sizeof(struct leat_stage_count);
    struct leat_scratch *scratch;

    run = leat_run_whole(run);
    if (job->map.counts) { /* it was parked, and what is counted was told */
        memset(job->map.counts, 0, n_bytes);
        job->map.workspace = take_workspace(run);
        return;
    }
    scratch = take_scratch(run);
    job->map.scratch = scratch ? &scratch->arena : NULL;
    job->map.counts = scratch ? leat_arena_alloc(&scratch->arena, n_bytes) : NULL;
    if (!job->map.counts)
        return;
    memset(job->map.counts, 0, n_bytes);
    lend_made(&job->map, scratch);
    job->map.workspace = take_workspace(run);
}

/* Large pieces teach nothing about those to come; what a stage keeps for the longest text is given
 * back. */
void leat_run_end_map(struct leat_run *run, struct leat_job *job) {
    bool is_large = job->map.large_bytes > 0;

    leat_account_change(run->memory.account, LEAT_MEMORY_SCRATCH, job->map.large_bytes, 0);
    leat_block_recount(job->map.block);
    if (!is_large)
        learn(&run->memory.block_estimate, job->map.block->counted_bytes);
    run = leat_run_whole(run);
    if (job->map.scratch)
        give_scratch(run, job->map.scratch, is_large);
    give_workspace(run, job->map.workspace, is_large);
}

static void count_jobs(struct leat_run *run, int change) {
    run->n_jobs += (uint32_t)change;
    if (run->whole)
        run->whole->n_jobs += (uint32_t)change;
}

void leat_run_park(struct leat_run *run, struct leat_job *job) {
    struct leat_run *whole = leat_run_whole(run);

    leat_block_recount(job->map.block);
    count_scratch(whole, scratch_of(job->map.scratch));
    give_workspace(whole, job->map.workspace, job->map.large_bytes > 0);
    job->map.workspace = NULL;
    job->map.is_partial = false;
    job->entry->parked = job;
    whole->n_parked++;
    count_jobs(run, -1);
}

struct leat_job *leat_run_unpark(struct leat_run *run, struct leat_queue_entry *entry) {
    struct leat_job *job = entry->parked;

    entry->parked = NULL;
    leat_run_whole(run)->n_parked--;
    count_jobs(run, 1);
    return job;
}

void leat_run_forget_parked(struct leat_run *run, struct leat_queue_entry *entry) {
    struct leat_job *job;

    if (!entry->parked)
        return;
    job = leat_run_unpark(run, entry);
    job->error.code = -ECANCELED;
    leat_run_end_map(run, job);
    leat_run_cache_end_map(run, entry, job);
    leat_run_give_job(run, job);
}
