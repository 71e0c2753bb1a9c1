/* room.h: how much of a stream may be in memory at once: how many more blocks a lane may queue, and
 * whether a piece may be mapped.
 *
 * A run whose account may not grow keeps fewer blocks in its queues, down to the number without
 * which it cannot go on. If it gets no memory for these either, since its order stages hold more
 * than was planned, it waits for others (lane_memory.h) and then fails. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/lane.h"
#include "pipeline/run/job_pool.h"
#include "pipeline/run/row_store.h"

struct leat_room {
    struct leat_lane *lanes; /* all that share the account */
    size_t n_lanes;
    struct leat_account *account;
    const struct leat_job_pool *jobs;
    struct leat_row_store *store;
};

uint32_t leat_room_n_blocks(const struct leat_room *room);
/* Number of further blocks, up to n_wanted, that the lane may queue; -errno: the run fails.
 * has_planned: batches wait for rows, and give back memory when they go. */
int leat_room_for_blocks(struct leat_room *room, struct leat_lane *lane, size_t n_wanted,
                         bool has_planned, struct leat_error *err);
/* 1: the piece may be mapped: it has a workspace, and a large one has memory, *ret_bytes more than
 * other pieces take; 0: not yet; -errno: the run fails. */
int leat_room_for_map(struct leat_room *room, struct leat_lane *lane,
                      const struct leat_queue_entry *entry, uint64_t *ret_bytes,
                      struct leat_error *err);
