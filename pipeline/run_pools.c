/* run_pools.c: see run_pools.h. */
#include "pipeline/run_pools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/memory_plan.h"
#include "pipeline/run_internal.h"

#define MIB 1048576.0

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
    uint64_t bytes = scratch->arena.capacity_bytes;

    leat_account_change(run->memory.account, LEAT_MEMORY_SCRATCH, scratch->counted_bytes, bytes);
    run->memory.scratch_total_bytes += bytes - scratch->counted_bytes;
    scratch->counted_bytes = bytes;
}

static void free_scratch(struct leat_run *run, struct leat_scratch *scratch) {
    leat_arena_deinit(&scratch->arena);
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
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, memory->carry_bytes, 0);
    leat_account_want(memory->account, 0);
    leat_account_close(&memory->own_account);
}

/* ---- jobs and buffers ---- */

struct leat_job *leat_run_take_job(struct leat_run *run, enum leat_job_kind kind) {
    struct leat_job *job = run->free_jobs;

    if (job)
        run->free_jobs = job->next;
    else
        job = malloc(sizeof(*job));
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

void leat_run_give_buffer(struct leat_run *run, struct leat_buffer *buffer) {
    if (!buffer)
        return;
    if (leat_account_should_shrink(run->memory.account)) {
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
    if (buffer->capacity > 0)
        learn(&run->memory.buffer_estimate, buffer->capacity);
}

void leat_run_count_scan(struct leat_run *run, struct leat_scan_job *scan) {
    uint64_t carry_bytes = run->scan.carry_capacity;

    for (size_t i = 0; i < scan->n_pieces; i++) {
        count_buffer(run, scan->buffers[i]);
        count_buffer(run, scan->pieces[i].buffer);
    }
    leat_account_change(run->memory.account, LEAT_MEMORY_SOURCE, run->memory.carry_bytes,
                        carry_bytes);
    run->memory.carry_bytes = carry_bytes;
}

void leat_run_count_cache(struct leat_run *run) {
    uint64_t bytes = leat_run_cache_n_bytes(run);

    leat_account_change(run->memory.account, LEAT_MEMORY_CACHE, run->memory.cache_bytes, bytes);
    run->memory.cache_bytes = bytes;
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
static void give_workspace(struct leat_run *run, struct leat_workspace *workspace) {
    if (!workspace)
        return;
    if (run->memory.n_workspaces > 1 && !run->can_rest &&
        leat_account_should_shrink(run->memory.account)) {
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

static void give_scratch(struct leat_run *run, struct leat_arena *arena) {
    struct leat_scratch *scratch =
        (struct leat_scratch *)((char *)arena - offsetof(struct leat_scratch, arena));

    count_scratch(run, scratch);
    learn(&run->memory.scratch_estimate, scratch->counted_bytes);
    if (leat_account_should_shrink(run->memory.account)) {
        free_scratch(run, scratch);
        return;
    }
    leat_arena_reset(arena);
    count_scratch(run, scratch);
    scratch->next = run->free_scratch;
    run->free_scratch = scratch;
}

void leat_run_start_map(struct leat_run *run, struct leat_job *job) {
    size_t n_bytes = (LEAT_COUNT_STAGES + run->plan->n_map) * sizeof(struct leat_stage_count);
    struct leat_scratch *scratch;

    run = leat_run_whole(run);
    scratch = take_scratch(run);
    job->map.scratch = scratch ? &scratch->arena : NULL;
    job->map.counts = scratch ? leat_arena_alloc(&scratch->arena, n_bytes) : NULL;
    if (!job->map.counts)
        return;
    memset(job->map.counts, 0, n_bytes);
    job->map.workspace = take_workspace(run);
}

void leat_run_end_map(struct leat_run *run, struct leat_job *job) {
    leat_block_recount(job->map.block);
    learn(&run->memory.block_estimate, job->map.block->counted_bytes);
    run = leat_run_whole(run);
    if (job->map.scratch)
        give_scratch(run, job->map.scratch);
    give_workspace(run, job->map.workspace);
}

/* ---- how much at once ---- */

static size_t n_unmapped(const struct leat_run *run) {
    size_t n = 0;

    for (const struct leat_queue_entry *entry = run->first; entry; entry = entry->next)
        n += entry->state != LEAT_ENTRY_MAPPED && entry->state != LEAT_ENTRY_PASS_END;
    return n;
}

static uint64_t beyond(uint64_t needed, uint64_t there) {
    return needed > there ? needed - there : 0;
}

/* What so many more blocks in line would take beyond what the run has. */
static uint64_t growth(const struct leat_run *run, size_t n_before, size_t n_more) {
    const struct leat_run_memory *memory = &run->memory;
    const struct leat_run_memory *shared = run->whole ? &run->whole->memory : memory;
    uint64_t n_at_once = n_before + n_more < run->n_at_once ? n_before + n_more : run->n_at_once;

    return beyond(n_more * memory->buffer_estimate, memory->free_buffer_bytes) +
           beyond((n_before + n_more) * memory->block_estimate, run->blocks.n_free_bytes) +
           beyond(n_at_once * shared->scratch_estimate, shared->scratch_total_bytes);
}

/* What the other sources that are mixed with this one cannot do without, and do not have yet. */
static uint64_t reserve(const struct leat_run *run) {
    uint64_t bytes = 0;

    for (size_t i = 0; run->whole && i < run->whole->n_lanes; i++) {
        const struct leat_run *lane = run->whole->lanes[i];
        uint64_t n_missing = beyond(LEAT_MEMORY_MIN_BLOCKS, lane->n_entries);

        if (lane != run)
            bytes += n_missing * (lane->memory.buffer_estimate + lane->memory.block_estimate);
    }
    return bytes;
}

static void fail_for_memory(struct leat_run *run, uint64_t more) {
    const struct leat_account *account = run->memory.account;
    const struct leat_pool_stats *pools = account->pools;
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(
        &err, -ENOMEM,
        "memory_limit (%.1f MiB) is reached: this stream has %.1f MiB (ring %.1f, loaded %.1f, "
        "workspaces %.1f, blocks %.1f: %u of them, most held by stages that order rows) and needs "
        "%.1f MiB more to go on, where %.1f MiB are free: let such stages hold fewer rows, or "
        "raise "
        "it",
        (double)account->budget->limit_bytes / MIB, (double)account->used_bytes / MIB,
        (double)pools[LEAT_MEMORY_RING].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_LOADED].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_WORKSPACES].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_BLOCKS].current_bytes / MIB, run->blocks.n_alive,
        (double)more / MIB, (double)leat_budget_free_bytes(account->budget) / MIB);
    leat_run_fail(run, &err);
}

/* Others have what it needs, beyond their guarantees: it waits a while for them. */
#define STARVED_TICKS_MAX 10

static void starve(struct leat_run *run, uint64_t more) {
    struct leat_run_memory *memory = &run->memory;

    if (!leat_account_may_hope(memory->account, more) ||
        memory->n_starved_ticks > STARVED_TICKS_MAX) {
        fail_for_memory(run, more);
        return;
    }
    if (memory->n_starved_ticks == 0)
        memory->n_starved_ticks = 1;
    leat_account_want(memory->account, more);
}

static void feed(struct leat_run *run) {
    run->memory.n_starved_ticks = 0;
    leat_account_want(run->memory.account, 0);
}

bool leat_run_is_starved(struct leat_run *run) {
    if (run->scan_has_ended || run->is_complete || run->has_failed)
        feed(run);
    run->memory.n_starved_ticks += run->memory.n_starved_ticks > 0;
    return run->memory.n_starved_ticks > 0;
}

size_t leat_run_room(struct leat_run *run, size_t n_wanted) {
    const struct leat_account *account = run->memory.account;
    size_t n_before;

    if (account->budget->limit_bytes == UINT64_MAX || n_wanted == 0)
        return n_wanted;
    n_before = n_unmapped(run);
    for (size_t n = n_wanted; n > 0; n--)
        if (leat_account_may_grow(account, growth(run, n_before, n) + reserve(run))) {
            feed(run);
            return n;
        }
    if (run->n_entries >= LEAT_MEMORY_MIN_BLOCKS)
        return 0;
    if (leat_account_must_grow(account, growth(run, n_before, 1))) {
        feed(run);
        return 1;
    }
    starve(run, growth(run, n_before, 1));
    return 0;
}

bool leat_run_may_map(const struct leat_run *run) {
    const struct leat_run_memory *memory = &run->memory;
    uint64_t n = run->n_maps_out < run->n_at_once ? run->n_maps_out + 1 : run->n_at_once;

    return run->n_maps_out == 0 || n <= memory->n_workspaces ||
           leat_account_may_grow(memory->account,
                                 (n - memory->n_workspaces) * memory->workspace_bytes);
}
