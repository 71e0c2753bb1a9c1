#include "pipeline/run/intake/room.h"

#include "pipeline/work/memory_plan.h"

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
