/* memory_plan.h: how much memory a stream takes, by part, before it runs: what `leatctl explain`
 * tells, and what a budget is asked for.
 *
 * Estimates are upper bounds for usual data: blocks by the bytes of source that they are made of,
 * rows that an order stage holds by what a row takes in a batch.
 */
#pragma once

#include "pipeline/plan/plan.h"

struct leat_memory_plan {
    uint64_t block_bytes;   /* one block with its source bytes, */
    uint64_t scratch_bytes; /* and what it takes besides while it is worked on */
    uint64_t loaded_bytes;
    uint64_t workspace_bytes; /* for one job at a time */
    uint64_t decoder_bytes;   /* of compressed files, as the first ones are */
    uint64_t order_bytes;     /* blocks that order stages and waiting batches hold on to */
    uint64_t evictable_bytes; /* and what they hold besides while there is room */
    uint64_t slot_bytes;
    uint32_t n_slots, n_min_slots; /* of the ring: wanted, and at least */
    uint32_t n_min_blocks;         /* without which the run cannot go on, */
    uint32_t n_blocks;             /* and at once, as wanted */
    uint32_t n_jobs;               /* MAP jobs at the same time, as wanted */
};

/* Blocks between scan and order at once: for each worker one that it maps, one that waits for it
 * and one that waits for its turn in the order. One more is being cut. */
#define LEAT_BLOCKS_IN_LINE(n_workers) (3 * (n_workers) + 2)

/* window: batches that the trainer may hold. n_blocks: between scan and order, n_threads: that map.
 */
void leat_memory_plan(const struct leat_plan *plan, uint32_t window, uint32_t n_blocks,
                      uint32_t n_threads, struct leat_memory_plan *ret_memory);

/* Blocks in line without which a source cannot go on. */
#define LEAT_MEMORY_MIN_BLOCKS 2

/* What mapping a piece that is larger than a block takes, with its result: n_marks separators of
 * JSON are in it. And loading such a block from a cache. */
uint64_t leat_memory_plan_map_large(const struct leat_plan *plan, uint64_t n_bytes,
                                    uint64_t n_marks);
uint64_t leat_memory_plan_load_large(uint64_t n_bytes);

/* What it takes to go on at all, and to go on as fast as it can; without the ring. */
uint64_t leat_memory_plan_least(const struct leat_memory_plan *memory);
uint64_t leat_memory_plan_wanted(const struct leat_memory_plan *memory);

/* Bytes that loading what the spec names may take for a moment, by the sizes of those files. May
 * block. */
uint64_t leat_memory_plan_load(const struct leat_spec *spec);
