#include "pipeline/run/intake/lane_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/memory/budget.h"
#include "pipeline/run/intake/estimate.h"
#include "pipeline/work/memory_plan.h"

#define MIB 1048576.0

#define FREE_BYTES (UINT64_C(32) << 20) /* of free blocks, or as many as the ring has */

#define IDLE_TICKS_MAX    10 /* of waiting in which no memory was given back */
#define STARVED_TICKS_MAX 60 /* of waiting in all */

/* ---- life ---- */

void leat_lane_memory_init(struct leat_lane_memory *memory, const struct leat_plan *plan,
                           struct leat_account *account, void (*forget)(struct leat_block *block)) {
    struct leat_memory_plan needs;

    leat_memory_plan(plan, 0, &needs);
    *memory = (struct leat_lane_memory){
        .plan = plan,
        .account = account,
        .blocks = {.account = account, .forget = forget},
        .block_bytes = (uint64_t)plan->options.block_bytes,
        .buffer_estimate = (uint64_t)plan->options.block_bytes,
        .block_estimate = needs.block_bytes - (uint64_t)plan->options.block_bytes,
    };
    memory->blocks.max_free_bytes = plan->n_slots * (uint64_t)plan->slot_bytes;
    if (memory->blocks.max_free_bytes < FREE_BYTES)
        memory->blocks.max_free_bytes = FREE_BYTES;
}

static void free_buffer(struct leat_lane_memory *memory, struct leat_buffer *buffer) {
    struct leat_leftovers *leftovers = memory->blocks.leftovers;

    if (leftovers) {
        leftovers->n_bytes[LEAT_MEMORY_SOURCE] += buffer->counted_bytes;
        leat_leftovers_add(leftovers, buffer->data);
    } else {
        leat_account_change(memory->account, LEAT_MEMORY_SOURCE, buffer->counted_bytes, 0);
        free(buffer->data);
    }
    free(buffer);
}

static void free_buffers(struct leat_lane_memory *memory) {
    while (memory->free_buffers) {
        struct leat_buffer *buffer = memory->free_buffers;

        memory->free_buffers = buffer->next;
        memory->free_buffer_bytes -= buffer->counted_bytes;
        free_buffer(memory, buffer);
    }
}

void leat_lane_memory_deinit(struct leat_lane_memory *memory) {
    free_buffers(memory);
    leat_block_pool_deinit(&memory->blocks);
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, memory->carry_bytes, 0);
    leat_account_want(memory->account, 0);
}

void leat_lane_memory_trim(struct leat_lane_memory *memory) {
    free_buffers(memory);
    leat_block_pool_trim(&memory->blocks);
}

void leat_lane_memory_scale(struct leat_lane_memory *memory, uint64_t before_bytes,
                            uint64_t after_bytes) {
    if (after_bytes > memory->block_bytes)
        memory->block_bytes = after_bytes;
    leat_estimate_scale(&memory->buffer_estimate, before_bytes, after_bytes);
    leat_estimate_scale(&memory->block_estimate, before_bytes, after_bytes);
}

bool leat_lane_memory_is_limited(const struct leat_lane_memory *memory) {
    return memory->account->budget->limit_bytes != UINT64_MAX;
}

/* ---- buffers and blocks ---- */

struct leat_buffer *leat_lane_memory_take_buffer(struct leat_lane_memory *memory) {
    struct leat_buffer *buffer = memory->free_buffers;

    leat_account_count(memory->account, LEAT_MEMORY_SOURCE, buffer != NULL);
    if (!buffer)
        return calloc(1, sizeof(*buffer));
    memory->free_buffers = buffer->next;
    memory->free_buffer_bytes -= buffer->counted_bytes;
    return buffer;
}

static bool is_large_buffer(const struct leat_lane_memory *memory,
                            const struct leat_buffer *buffer) {
    return buffer->capacity > memory->block_bytes && leat_lane_memory_is_limited(memory);
}

void leat_lane_memory_give_buffer(struct leat_lane_memory *memory, struct leat_buffer *buffer) {
    if (!buffer)
        return;
    if (is_large_buffer(memory, buffer) || leat_account_should_shrink(memory->account)) {
        free_buffer(memory, buffer);
        return;
    }
    buffer->next = memory->free_buffers;
    memory->free_buffers = buffer;
    memory->free_buffer_bytes += buffer->counted_bytes;
}

/* Large pieces do not predict the next ones. */
void leat_lane_memory_count_block(struct leat_lane_memory *memory, struct leat_block *block,
                                  bool is_large) {
    leat_block_recount(block);
    if (!is_large)
        leat_estimate_learn(&memory->block_estimate, block->counted_bytes);
}

static void count_buffer(struct leat_lane_memory *memory, struct leat_buffer *buffer) {
    if (!buffer)
        return;
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, buffer->counted_bytes,
                        buffer->capacity);
    buffer->counted_bytes = buffer->capacity;
    if (buffer->capacity > 0 && !is_large_buffer(memory, buffer))
        leat_estimate_learn(&memory->buffer_estimate, buffer->capacity);
}

void leat_lane_memory_end_read(struct leat_lane_memory *memory, struct leat_buffer *buffer) {
    count_buffer(memory, buffer);
    leat_lane_memory_give_buffer(memory, buffer);
}

/* The record that is being read wants a larger buffer, and its carried bytes. */
static uint64_t scan_bytes(const struct leat_lane_memory *memory) {
    return 2 * memory->scan_wants;
}

size_t leat_lane_memory_start_scan(struct leat_lane_memory *memory) {
    if (!leat_lane_memory_is_limited(memory))
        return SIZE_MAX;
    memory->scan_reserved = scan_bytes(memory);
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, 0, memory->scan_reserved);
    return memory->scan_wants > memory->block_bytes ? (size_t)memory->scan_wants
                                                    : (size_t)memory->block_bytes;
}

void leat_lane_memory_end_scan(struct leat_lane_memory *memory, const struct leat_scan_job *job) {
    uint64_t carry_bytes = job->scan->carry_capacity;

    for (size_t i = 0; i < job->n_pieces; i++) {
        if (i < LEAT_SCAN_MAX)
            count_buffer(memory, job->buffers[i]);
        count_buffer(memory, job->pieces[i].buffer);
    }
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE,
                        memory->carry_bytes + memory->scan_reserved, carry_bytes);
    memory->carry_bytes = carry_bytes;
    memory->scan_reserved = 0;
    memory->scan_wants = job->wants_bytes;
}

/* ---- how much at once ---- */

static uint64_t beyond(uint64_t needed, uint64_t there) {
    return needed > there ? needed - there : 0;
}

uint64_t leat_lane_memory_growth(const struct leat_lane_memory *memory, size_t n_unmapped,
                                 size_t n_more) {
    return beyond(n_more * memory->buffer_estimate, memory->free_buffer_bytes) +
           beyond((n_unmapped + n_more) * memory->block_estimate, memory->blocks.n_free_bytes) +
           scan_bytes(memory);
}

uint64_t leat_lane_memory_needed(const struct leat_lane_memory *memory, size_t n_blocks) {
    return n_blocks * (memory->buffer_estimate + memory->block_estimate);
}

bool leat_lane_memory_is_large(const struct leat_lane_memory *memory,
                               const struct leat_piece *piece) {
    return piece->span.n_bytes > memory->block_bytes;
}

uint64_t leat_lane_memory_map_bytes(const struct leat_lane_memory *memory,
                                    const struct leat_queue_entry *entry) {
    if (!leat_lane_memory_is_limited(memory) || !leat_lane_memory_is_large(memory, &entry->piece) ||
        entry->parked) /* A parked job has its memory. */
        return 0;
    return entry->file ? leat_memory_plan_load_large(entry->frame.n_bytes)
                       : leat_memory_plan_map_large(memory->plan, entry->piece.span.n_bytes,
                                                    entry->piece.n_marks);
}

void leat_lane_memory_want_map(struct leat_lane_memory *memory, uint64_t n_bytes) {
    memory->map_wants = n_bytes;
}

/* ---- waiting ---- */

int leat_lane_memory_starve(struct leat_lane_memory *memory, uint64_t n_bytes) {
    if (!leat_account_may_hope(memory->account, n_bytes) || memory->n_idle_ticks > IDLE_TICKS_MAX ||
        memory->n_starved_ticks > STARVED_TICKS_MAX)
        return -ENOMEM;
    if (memory->n_starved_ticks == 0)
        memory->n_starved_ticks = 1;
    leat_account_want(memory->account, n_bytes);
    return 0;
}

void leat_lane_memory_feed(struct leat_lane_memory *memory) {
    memory->n_starved_ticks = memory->n_idle_ticks = 0;
    leat_account_want(memory->account, 0);
}

bool leat_lane_memory_tick(struct leat_lane_memory *memory, bool is_needed) {
    uint64_t n_returned = memory->account->budget->n_returned_bytes;

    if (memory->n_starved_ticks == 0)
        return false;
    if (!is_needed)
        leat_lane_memory_feed(memory);
    if (memory->n_starved_ticks > 0) {
        memory->n_starved_ticks++;
        memory->n_idle_ticks = n_returned == memory->seen_returned ? memory->n_idle_ticks + 1 : 0;
    }
    memory->seen_returned = n_returned;
    return memory->n_starved_ticks > 0;
}

/* Names what the lane waits for. */
static const char *reason(const struct leat_lane_memory *memory) {
    if (memory->map_wants > 0)
        return "to process a record that is larger than block_bytes: raise memory_limit, or lower "
               "max_record_bytes to reject the record as bad";
    if (memory->scan_wants > 0)
        return "to read a record that is larger than block_bytes: raise memory_limit, or lower "
               "max_record_bytes to reject the record as bad";
    return "to continue: use smaller buffers in stages such as `shuffle`, or raise memory_limit";
}

int leat_lane_memory_fail(const struct leat_lane_memory *memory, uint64_t n_bytes,
                          uint32_t n_blocks, struct leat_error *err) {
    const struct leat_account *account = memory->account;
    const struct leat_pool_stats *pools = account->pools;
    uint64_t others = account->budget->claimed_bytes - leat_account_claim(account);

    return leat_error_set(
        err, -ENOMEM,
        "memory_limit (%.1f MiB) is reached: this stream uses %.1f MiB (ring %.1f, loaded files "
        "%.1f, workspaces %.1f, order %.1f, blocks %.1f: %u of them), the rest of the daemon uses "
        "or reserves %.1f MiB, and this stream needs %.1f MiB more %s",
        (double)account->budget->limit_bytes / MIB, (double)account->used_bytes / MIB,
        (double)pools[LEAT_MEMORY_RING].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_LOADED].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_WORKSPACES].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_ORDER].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_BLOCKS].current_bytes / MIB, n_blocks, (double)others / MIB,
        (double)n_bytes / MIB, reason(memory));
}
