/* lane.h: a source that is read: its reader, the queue of its blocks, and their memory. A run has
 * one lane, or one for each source that is mixed; then each lane counts its own passes. Owner: the
 * run's thread. */
#pragma once

#include "pipeline/run/intake/lane_memory.h"
#include "pipeline/run/intake/reader.h"

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
