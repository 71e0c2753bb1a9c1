#include "pipeline/run/intake/lane.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/row_store.h"
#include "pipeline/work/memory_plan.h"

void leat_lane_init(struct leat_lane *lane, struct leat_plan *plan,
                    const struct leat_run_options *options, struct leat_account *account,
                    uint32_t index, size_t n_lanes, size_t max_map_jobs) {
    lane->index = index;
    lane->epoch = options->first_epoch;
    lane->pass = 0;
    leat_block_queue_init(&lane->queue);
    leat_lane_memory_init(&lane->memory, plan, account, leat_row_store_forget);
    leat_reader_init(&lane->reader, plan, options, account, index, n_lanes, max_map_jobs);
}

void leat_lane_deinit(struct leat_lane *lane) {
    leat_reader_deinit(&lane->reader);
    leat_lane_memory_deinit(&lane->memory);
}

struct leat_queue_entry *leat_lane_add(struct leat_lane *lane, struct leat_queue_entry entry) {
    entry.epoch = lane->reader.epoch;
    entry.pass = lane->reader.pass;
    return leat_block_queue_add(&lane->queue, &entry);
}

void leat_lane_free_entry(struct leat_lane *lane, struct leat_queue_entry *entry) {
    if (entry->block)
        leat_block_unref(entry->block, 1);
    leat_lane_release_piece(lane, &entry->piece);
    free(entry->n_idle_rows);
    free(entry);
}

bool leat_lane_is_stale(const struct leat_lane *lane) {
    return leat_queue_entry_is_stale(lane->queue.first, lane->epoch, lane->pass);
}

void leat_lane_set_pass(struct leat_lane *lane, uint64_t epoch, uint64_t pass) {
    lane->epoch = epoch;
    lane->pass = pass;
}

uint64_t leat_lane_n_read(const struct leat_lane *lane) {
    const struct leat_queue_entry *entry = lane->queue.first;

    return entry && entry->state == LEAT_ENTRY_MAPPED && entry->next_row > 0
               ? leat_queue_entry_n_read(entry)
               : 0;
}

int leat_lane_give_buffers(struct leat_lane *lane, struct leat_scan_job *job) {
    for (size_t i = 0; i < job->n_pieces && i < LEAT_SCAN_MAX; i++) {
        job->buffers[i] = leat_lane_memory_take_buffer(&lane->memory);
        if (!job->buffers[i])
            return -ENOMEM;
    }
    return 0;
}

void leat_lane_take_buffers(struct leat_lane *lane, struct leat_scan_job *job) {
    for (size_t i = 0; i < job->n_pieces && i < LEAT_SCAN_MAX; i++)
        leat_lane_memory_give_buffer(&lane->memory, job->buffers[i]);
}

void leat_lane_release_piece(struct leat_lane *lane, struct leat_piece *piece) {
    leat_lane_memory_give_buffer(&lane->memory, piece->buffer);
    piece->buffer = NULL;
}

/* ---- room ---- */

uint32_t leat_room_n_blocks(const struct leat_room *room) {
    uint32_t n = 0;

    for (size_t i = 0; i < room->n_lanes; i++)
        n += room->lanes[i].memory.blocks.n_alive;
    return n;
}

static uint64_t growth(const struct leat_room *room, const struct leat_lane *lane,
                       size_t n_unmapped, size_t n_more) {
    return leat_lane_memory_growth(&lane->memory, n_unmapped, n_more) +
           leat_job_pool_growth(room->jobs, n_unmapped + n_more);
}

/* Bytes that the other lanes lack for the blocks without which they cannot go on. */
static uint64_t reserve(const struct leat_room *room, const struct leat_lane *lane) {
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < room->n_lanes; i++) {
        const struct leat_lane *other = &room->lanes[i];

        if (other != lane && other->queue.n_blocks < LEAT_MEMORY_MIN_BLOCKS)
            n_bytes += leat_lane_memory_needed(&other->memory,
                                               LEAT_MEMORY_MIN_BLOCKS - other->queue.n_blocks);
    }
    return n_bytes;
}

/* Waits for memory that others hold beyond their guarantees. */
static int starve(struct leat_room *room, struct leat_lane *lane, uint64_t n_bytes,
                  struct leat_error *err) {
    if (leat_lane_memory_starve(&lane->memory, n_bytes) == 0)
        return 0;
    return leat_lane_memory_fail(&lane->memory, n_bytes, leat_room_n_blocks(room), err);
}

/* One more block, if the lane cannot go on without it: 1, 0 or -errno. */
static int room_for_one(struct leat_room *room, struct leat_lane *lane, size_t n_unmapped,
                        bool has_planned, struct leat_error *err) {
    uint64_t n_bytes = growth(room, lane, n_unmapped, 1);

    if (leat_row_store_evict(room->store) &&
        leat_account_may_grow(room->account, growth(room, lane, n_unmapped, 1)))
        return 1;
    if (lane->queue.n_blocks >= LEAT_MEMORY_MIN_BLOCKS)
        return 0;
    n_bytes = growth(room, lane, n_unmapped, 1);
    if (leat_account_must_grow(room->account, n_bytes)) {
        leat_lane_memory_feed(&lane->memory);
        return 1;
    }
    if (has_planned)
        return 0;
    return starve(room, lane, n_bytes, err);
}

int leat_room_for_blocks(struct leat_room *room, struct leat_lane *lane, size_t n_wanted,
                         bool has_planned, struct leat_error *err) {
    size_t n_unmapped;

    if (!leat_lane_memory_is_limited(&lane->memory) || n_wanted == 0)
        return (int)n_wanted;
    if (lane->memory.map_wants > 0)
        return 0;
    n_unmapped = leat_block_queue_n_unmapped(&lane->queue);
    for (size_t n = lane->memory.scan_wants > 0 ? 1 : n_wanted; n > 0; n--)
        if (leat_account_may_grow(room->account,
                                  growth(room, lane, n_unmapped, n) + reserve(room, lane))) {
            leat_lane_memory_feed(&lane->memory);
            return (int)n;
        }
    return room_for_one(room, lane, n_unmapped, has_planned, err);
}

/* It is safe to wait for a piece that is out or parked, as it gives back its memory. */
int leat_room_for_map(struct leat_room *room, struct leat_lane *lane,
                      const struct leat_queue_entry *entry, uint64_t *ret_bytes,
                      struct leat_error *err) {
    *ret_bytes = leat_lane_memory_map_bytes(&lane->memory, entry);
    if (!leat_job_pool_has_workspace(room->jobs))
        return 0;
    if (*ret_bytes > 0 && leat_job_pool_has_maps(room->jobs))
        return leat_account_may_grow(room->account, *ret_bytes);
    if (*ret_bytes > 0 && !leat_account_must_grow(room->account, *ret_bytes)) {
        leat_lane_memory_want_map(&lane->memory, *ret_bytes);
        return starve(room, lane, *ret_bytes, err);
    }
    if (lane->memory.map_wants > 0)
        leat_lane_memory_feed(&lane->memory);
    leat_lane_memory_want_map(&lane->memory, 0);
    return 1;
}
