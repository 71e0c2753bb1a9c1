/* memory_plan.h: how much memory a stream takes, by part, before it runs. `leatctl explain` shows
 * it, and the budget is asked for it.
 *
 * Estimates are upper bounds for usual data: blocks by their bytes of source, rows of order stages
 * by their bytes in a batch.
 */
#pragma once

#include "pipeline/plan/plan.h"

struct leat_memory_plan {
    uint64_t block_bytes;   /* one block with its source bytes */
    uint64_t scratch_bytes; /* of its MAP job */
    uint64_t loaded_bytes;
    uint64_t workspace_bytes; /* for one job */
    uint64_t decoder_bytes;   /* of compressed files, as of the first ones */
    uint64_t order_bytes;     /* blocks that order stages and pending batches hold */
    uint64_t slot_bytes;
    uint32_t n_slots, n_min_slots; /* of the ring */
    uint32_t n_min_blocks;         /* without which the run cannot go on */
};

/* Blocks between scan and order at once: for each worker one that it maps, and three that wait for
 * a worker, or for their turn in the order. If there are more, they have left the caches when their
 * turn comes. */
#define LEAT_BLOCKS_IN_QUEUE(n_workers) ((n_workers) + 3)

/* window: number of batches that the trainer may hold. */
void leat_memory_plan(const struct leat_plan *plan, uint32_t window,
                      struct leat_memory_plan *ret_memory);
/* The same for a run that reads n_lanes of the lanes of its order, and keeps the others empty. */
void leat_memory_plan_of_lanes(const struct leat_plan *plan, size_t n_lanes, uint32_t window,
                               struct leat_memory_plan *ret_memory);

/* Blocks in the queue without which a lane cannot go on. */
#define LEAT_MEMORY_MIN_BLOCKS 2

/* Bytes that mapping a piece larger than a block takes, with its result; n_marks: its JSON
 * separators. Bytes that loading such a block from a cache takes. */
uint64_t leat_memory_plan_map_large(const struct leat_plan *plan, uint64_t n_bytes,
                                    uint64_t n_marks);
uint64_t leat_memory_plan_load_large(uint64_t n_bytes);

/* Bytes without which the run cannot go on; without the ring. */
uint64_t leat_memory_plan_least(const struct leat_memory_plan *memory);

/* Bytes that loading the files that the spec names may take for a moment. May block. */
uint64_t leat_memory_plan_load(const struct leat_spec *spec);
