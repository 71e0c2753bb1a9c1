/* run/room.c: how much of a stream may be in memory at once. See run/pools.h.
 *
 * What the next blocks will take is guessed from the latest. Pieces that are larger than a block,
 * since one record is, are asked for one by one: before such a record is read on, and before it is
 * mapped. A run that cannot go on waits as long as others give back memory, for a minute at most,
 * then fails with the sum in words.
 */
#include <errno.h>

#include "pipeline/run/run_internal.h"
#include "pipeline/work/memory_plan.h"

#define MIB 1048576.0

#define IDLE_TICKS_MAX    10 /* of waiting, in which nobody gave back anything */
#define STARVED_TICKS_MAX 60 /* in all */

static size_t n_unmapped(const struct leat_run *run) {
    size_t n = 0;

    for (const struct leat_queue_entry *entry = run->first; entry; entry = entry->next)
        n += entry->state != LEAT_ENTRY_MAPPED && entry->state != LEAT_ENTRY_PASS_END;
    return n;
}

static uint64_t beyond(uint64_t needed, uint64_t there) {
    return needed > there ? needed - there : 0;
}

/* What the record that is being read wants: a larger buffer, and what is carried to it. */
static uint64_t scan_bytes(const struct leat_run *run) {
    return 2 * run->memory.scan_wants;
}

/* What so many more blocks in line would take beyond what the run has. */
static uint64_t growth(const struct leat_run *run, size_t n_before, size_t n_more) {
    const struct leat_run_memory *memory = &run->memory;
    const struct leat_run_memory *shared = run->whole ? &run->whole->memory : memory;
    uint64_t n_at_once = n_before + n_more < run->n_at_once ? n_before + n_more : run->n_at_once;

    return beyond(n_more * memory->buffer_estimate, memory->free_buffer_bytes) +
           beyond((n_before + n_more) * memory->block_estimate, run->blocks.n_free_bytes) +
           beyond(n_at_once * shared->scratch_estimate, shared->scratch_total_bytes) +
           scan_bytes(run);
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

/* ---- waiting ---- */

/* What the run waits for, in words. */
static const char *reason(const struct leat_run *run) {
    if (run->memory.map_wants > 0)
        return "to work on a record that is larger than block_bytes: make max_record_bytes smaller "
               "(then it is a bad record), or raise it";
    if (run->memory.scan_wants > 0)
        return "to read a record that is larger than block_bytes: make max_record_bytes smaller "
               "(then it is a bad record), or raise it";
    return "to go on: let stages that order rows hold fewer of them, or raise it";
}

static void fail_for_memory(struct leat_run *run, uint64_t more) {
    const struct leat_account *account = run->memory.account;
    const struct leat_pool_stats *pools = account->pools;
    const struct leat_run *whole = leat_run_whole(run);
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t others = account->budget->claimed_bytes - leat_account_claim(account);

    leat_error_set(
        &err, -ENOMEM,
        "memory_limit (%.1f MiB) is reached: this stream has %.1f MiB (ring %.1f, loaded %.1f, "
        "workspaces %.1f, order %.1f, blocks %.1f: %u of them), %.1f MiB are taken by all others "
        "or guaranteed to them, and %.1f MiB more are needed %s",
        (double)account->budget->limit_bytes / MIB, (double)account->used_bytes / MIB,
        (double)pools[LEAT_MEMORY_RING].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_LOADED].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_WORKSPACES].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_ORDER].current_bytes / MIB,
        (double)pools[LEAT_MEMORY_BLOCKS].current_bytes / MIB,
        whole->blocks.n_alive + leat_run_mix_n_blocks(whole), (double)others / MIB,
        (double)more / MIB, reason(run));
    leat_run_fail(run, &err);
}

/* Others have what it needs, beyond their guarantees: it waits for them. */
static void starve(struct leat_run *run, uint64_t more) {
    struct leat_run_memory *memory = &run->memory;

    if (!leat_account_may_hope(memory->account, more) || memory->n_idle_ticks > IDLE_TICKS_MAX ||
        memory->n_starved_ticks > STARVED_TICKS_MAX) {
        fail_for_memory(run, more);
        return;
    }
    if (memory->n_starved_ticks == 0)
        memory->n_starved_ticks = 1;
    leat_account_want(memory->account, more);
}

static void feed(struct leat_run *run) {
    run->memory.n_starved_ticks = run->memory.n_idle_ticks = 0;
    leat_account_want(run->memory.account, 0);
}

bool leat_run_is_starved(struct leat_run *run) {
    struct leat_run_memory *memory = &run->memory;
    uint64_t n_returned = memory->account->budget->n_returned_bytes;
    bool is_starved = false;

    for (size_t i = 0; i < run->n_lanes; i++)
        is_starved |= leat_run_is_starved(run->lanes[i]);
    if (memory->n_starved_ticks == 0)
        return is_starved;
    if (((run->scan_has_ended || !leat_run_may_scan(run, run->scan_epoch)) &&
         memory->map_wants == 0) ||
        run->is_complete || run->has_failed)
        feed(run);
    if (memory->n_starved_ticks > 0) {
        memory->n_starved_ticks++;
        memory->n_idle_ticks = n_returned == memory->seen_returned ? memory->n_idle_ticks + 1 : 0;
    }
    memory->seen_returned = n_returned;
    return is_starved || memory->n_starved_ticks > 0;
}

/* ---- reading ---- */

size_t leat_run_room(struct leat_run *run, size_t n_wanted) {
    const struct leat_account *account = run->memory.account;
    size_t n_before;

    if (account->budget->limit_bytes == UINT64_MAX || n_wanted == 0)
        return n_wanted;
    if (run->memory.map_wants > 0)
        return 0;
    n_before = n_unmapped(run);
    for (size_t n = run->memory.scan_wants > 0 ? 1 : n_wanted; n > 0; n--)
        if (leat_account_may_grow(account, growth(run, n_before, n) + reserve(run))) {
            feed(run);
            return n;
        }
    if (leat_residents_evict(run) && leat_account_may_grow(account, growth(run, n_before, 1)))
        return 1;
    if (run->n_entries >= LEAT_MEMORY_MIN_BLOCKS)
        return 0;
    if (leat_account_must_grow(account, growth(run, n_before, 1))) {
        feed(run);
        return 1;
    }
    if (run->residents.n_planned > 0) /* what they have comes back as they go */
        return 0;
    starve(run, growth(run, n_before, 1));
    return 0;
}

size_t leat_run_reserve_scan(struct leat_run *run) {
    struct leat_run_memory *memory = &run->memory;
    size_t block_bytes = (size_t)run->plan->options.block_bytes;

    if (memory->account->budget->limit_bytes == UINT64_MAX)
        return SIZE_MAX;
    memory->scan_reserved = scan_bytes(run);
    leat_account_change(memory->account, LEAT_MEMORY_SOURCE, 0, memory->scan_reserved);
    return memory->scan_wants > block_bytes ? (size_t)memory->scan_wants : block_bytes;
}

/* ---- mapping ---- */

bool leat_run_is_large(const struct leat_run *run, const struct leat_queue_entry *entry) {
    return entry->piece.span.n_bytes > (uint64_t)run->plan->options.block_bytes;
}

static uint64_t map_bytes(const struct leat_run *run, const struct leat_queue_entry *entry) {
    if (run->memory.account->budget->limit_bytes == UINT64_MAX || !leat_run_is_large(run, entry) ||
        entry->parked) /* which has it */
        return 0;
    return entry->file ? leat_memory_plan_load_large(entry->frame.n_bytes)
                       : leat_memory_plan_map_large(run->plan, entry->piece.span.n_bytes,
                                                    entry->piece.n_marks);
}

bool leat_run_has_workspace(const struct leat_run *whole) {
    const struct leat_run_memory *memory = &whole->memory;
    uint64_t n = whole->n_maps_out < whole->n_at_once ? whole->n_maps_out + 1 : whole->n_at_once;

    return whole->n_maps_out == 0 || n <= memory->n_workspaces ||
           leat_account_may_grow(memory->account,
                                 (n - memory->n_workspaces) * memory->workspace_bytes);
}

/* One that is out, or is parked, gives back what it has. */
bool leat_run_may_map(struct leat_run *run, const struct leat_queue_entry *entry,
                      uint64_t *ret_bytes) {
    struct leat_run_memory *memory = &run->memory;
    const struct leat_run *whole = leat_run_whole(run);

    *ret_bytes = map_bytes(run, entry);
    if (!leat_run_has_workspace(whole))
        return false;
    if (*ret_bytes > 0 && whole->n_maps_out + whole->n_parked > 0)
        return leat_account_may_grow(memory->account, *ret_bytes);
    if (*ret_bytes > 0 && !leat_account_must_grow(memory->account, *ret_bytes)) {
        memory->map_wants = *ret_bytes;
        starve(run, *ret_bytes);
        return false;
    }
    if (memory->map_wants > 0)
        feed(run);
    memory->map_wants = 0;
    return true;
}
