/* lane_memory.h: the memory of a lane: buffers and blocks that are used again, counted in the run's
 * account, and how much more the lane needs.
 *
 * The size of the next blocks is estimated from the latest ones. A piece that is larger than a
 * block, since one record is, asks for its memory twice: before the record is read further, and
 * before it is mapped. A lane that cannot go on waits while others give back memory, for at most a
 * minute. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"

struct leat_lane_memory {
    const struct leat_plan *plan;
    struct leat_account *account;
    struct leat_buffer *free_buffers;
    uint64_t free_buffer_bytes;
    struct leat_block_pool blocks;
    uint64_t block_bytes; /* the largest size of blocks so far; only large records have more */
    uint64_t block_estimate, buffer_estimate; /* bytes of the next one */
    uint64_t carry_bytes;                     /* of the scanner, counted */
    uint64_t scan_wants;                      /* size of a buffer for a large record; 0: none */
    uint64_t scan_reserved;                   /* counted for the SCAN job that is out */
    uint64_t map_wants;       /* bytes for a large piece that is next to be mapped; 0: none */
    uint32_t n_starved_ticks; /* for which the lane has waited for memory; 0: it does not wait */
    uint32_t n_idle_ticks;    /* the latest of these, in which no memory was given back */
    uint64_t seen_returned;   /* n_returned_bytes of the budget at the last tick */
};

void leat_lane_memory_init(struct leat_lane_memory *memory, const struct leat_plan *plan,
                           struct leat_account *account, void (*forget)(struct leat_block *block));
/* All blocks must be back. */
void leat_lane_memory_deinit(struct leat_lane_memory *memory);
/* Gives back unused memory. */
void leat_lane_memory_trim(struct leat_lane_memory *memory);
/* Adapts the estimates to another size of blocks. */
void leat_lane_memory_scale(struct leat_lane_memory *memory, uint64_t before_bytes,
                            uint64_t after_bytes);
/* True if the account has a limit. */
bool leat_lane_memory_is_limited(const struct leat_lane_memory *memory);

struct leat_buffer *leat_lane_memory_take_buffer(struct leat_lane_memory *memory);
/* buffer NULL: nothing happens. */
void leat_lane_memory_give_buffer(struct leat_lane_memory *memory, struct leat_buffer *buffer);
/* Takes back a buffer that a MAP job has read a piece into. */
void leat_lane_memory_end_read(struct leat_lane_memory *memory, struct leat_buffer *buffer);
/* Counts the block of a MAP job again, as it may have grown. */
void leat_lane_memory_count_block(struct leat_lane_memory *memory, struct leat_block *block,
                                  bool is_large);
/* The size that a buffer of the next SCAN job may have. What exceeds a block is counted until the
 * job is back. */
size_t leat_lane_memory_start_scan(struct leat_lane_memory *memory);
/* Counts the buffers of a SCAN job again, as they may have grown. */
void leat_lane_memory_end_scan(struct leat_lane_memory *memory, const struct leat_scan_job *job);

/* Bytes that n_more blocks behind n_unmapped ones need beyond what the lane has. */
uint64_t leat_lane_memory_growth(const struct leat_lane_memory *memory, size_t n_unmapped,
                                 size_t n_more);
/* Bytes that n_blocks in the queue need. */
uint64_t leat_lane_memory_needed(const struct leat_lane_memory *memory, size_t n_blocks);
/* True if the piece is larger than a block. */
bool leat_lane_memory_is_large(const struct leat_lane_memory *memory,
                               const struct leat_piece *piece);
/* Bytes that mapping the entry takes beyond other entries. */
uint64_t leat_lane_memory_map_bytes(const struct leat_lane_memory *memory,
                                    const struct leat_queue_entry *entry);
/* Sets the bytes for which a large piece waits; 0: none waits. */
void leat_lane_memory_want_map(struct leat_lane_memory *memory, uint64_t n_bytes);

/* Waits for others to give back n_bytes. 0; -ENOMEM: waiting does not help. */
int leat_lane_memory_starve(struct leat_lane_memory *memory, uint64_t n_bytes);
/* Ends the wait. */
void leat_lane_memory_feed(struct leat_lane_memory *memory);
/* Call it at each tick. True: the lane waits for memory and should try again. is_needed: it still
 * has use for the memory. */
bool leat_lane_memory_tick(struct leat_lane_memory *memory, bool is_needed);
/* Reports that waiting does not help. n_blocks: number of blocks of the run. */
int leat_lane_memory_fail(const struct leat_lane_memory *memory, uint64_t n_bytes,
                          uint32_t n_blocks, struct leat_error *err);
