/* lane.h: a source that is read: the reader, the queue of its blocks, and their memory. A run has
 * one, or one for each of several sources that are mixed, whose passes are laps of their own.
 * Owner: the run's thread. */
#pragma once

#include "pipeline/run/intake/lane_memory.h"
#include "pipeline/run/intake/reader.h"

struct leat_lane {
    uint32_t index;
    struct leat_reader reader;
    struct leat_block_queue queue;
    struct leat_lane_memory memory;
    uint64_t epoch, pass; /* that is being consumed */
};

/* n_lanes 0: the source is the only one. max_map_jobs: blocks in the queue at once. */
void leat_lane_init(struct leat_lane *lane, struct leat_plan *plan,
                    const struct leat_run_options *options, struct leat_account *account,
                    uint32_t index, size_t n_lanes, size_t max_map_jobs);
/* Its queue must be empty. */
void leat_lane_deinit(struct leat_lane *lane);

/* Queues the entry as one of the pass that is read; NULL: no memory. */
struct leat_queue_entry *leat_lane_add(struct leat_lane *lane, struct leat_queue_entry entry);
/* Frees an entry that was taken out of the queue, with its block and buffer. */
void leat_lane_free_entry(struct leat_lane *lane, struct leat_queue_entry *entry);
/* True if the first entry of the queue is of a pass before the one that is consumed. */
bool leat_lane_is_stale(const struct leat_lane *lane);
/* That pass is consumed from now on. */
void leat_lane_set_pass(struct leat_lane *lane, uint64_t epoch, uint64_t pass);
/* Records that were read of the block that is being consumed. */
uint64_t leat_lane_n_read(const struct leat_lane *lane);

/* Gives a SCAN job its buffers: 0 or -ENOMEM; takes back those that it did not use. */
int leat_lane_give_buffers(struct leat_lane *lane, struct leat_scan_job *job);
void leat_lane_take_buffers(struct leat_lane *lane, struct leat_scan_job *job);
void leat_lane_release_piece(struct leat_lane *lane, struct leat_piece *piece);
