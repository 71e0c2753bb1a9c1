/* lane.h: a source that is read: its reader, the queue of its blocks, and their memory. A run has
 * one lane, or one for each source that is mixed; then each lane counts its own passes. Owner: the
 * run's thread. */
#pragma once

#include "pipeline/run/intake/lane_memory.h"
#include "pipeline/run/intake/reader.h"
#include "pipeline/run/job_pool.h"
#include "pipeline/run/row_store.h"

struct leat_lane {
    uint32_t index;
    struct leat_reader reader;
    struct leat_block_queue queue;
    struct leat_lane_memory memory;
    uint64_t epoch, pass; /* being consumed */
};

/* n_lanes 0: there is one source. max_map_jobs: blocks in the queue at once. */
void leat_lane_init(struct leat_lane *lane, struct leat_plan *plan,
                    const struct leat_run_options *options, struct leat_account *account,
                    uint32_t index, size_t n_lanes, size_t max_map_jobs);
/* Its queue must be empty. */
void leat_lane_deinit(struct leat_lane *lane);

/* Queues the entry for the pass that is read; NULL: no memory. */
struct leat_queue_entry *leat_lane_add(struct leat_lane *lane, struct leat_queue_entry entry);
/* Frees an entry that left the queue, with its block and buffer. */
void leat_lane_free_entry(struct leat_lane *lane, struct leat_queue_entry *entry);
/* True if the first entry of the queue is of an earlier pass than the consumed one. */
bool leat_lane_is_stale(const struct leat_lane *lane);
/* Sets the pass that is consumed. */
void leat_lane_set_pass(struct leat_lane *lane, uint64_t epoch, uint64_t pass);
/* Number of records that were read of the block that is being consumed. */
uint64_t leat_lane_n_read(const struct leat_lane *lane);

/* Gives a SCAN job its buffers, 0 or -ENOMEM; takes back unused ones. */
int leat_lane_give_buffers(struct leat_lane *lane, struct leat_scan_job *job);
void leat_lane_take_buffers(struct leat_lane *lane, struct leat_scan_job *job);
void leat_lane_release_piece(struct leat_lane *lane, struct leat_piece *piece);

/* How much of a stream may be in memory at once: how many more blocks a lane may queue, and
 * whether a piece may be mapped.
 *
 * A run whose account may not grow keeps fewer blocks in its queues, down to the number without
 * which it cannot go on. If it gets no memory for these either, since its order stages hold more
 * than was planned, it waits for others (lane_memory.h) and then fails. Owner: the run's thread. */
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
