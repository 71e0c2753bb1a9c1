/* lane_memory.h: the memory of a source that is read: buffers and blocks that are used again and
 * again, counted in the run's account, and how many more of them there is room for.
 *
 * What the next blocks will take is guessed from the latest. Pieces that are larger than a block,
 * since one record is, are asked for one by one: before such a record is read on, and before it is
 * mapped. A source that cannot go on waits as long as others give back memory, for a minute at
 * most. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"

struct leat_lane_memory {
    const struct leat_plan *plan;
    struct leat_account *account;
    struct leat_buffer *free_buffers;
    uint64_t free_buffer_bytes;
    struct leat_block_pool blocks;
    uint64_t block_estimate, buffer_estimate; /* of the next, from the latest */
    uint64_t carry_bytes;                     /* of the scanner, counted */
    uint64_t scan_wants;                      /* bytes of a buffer for a large record; 0: none */
    uint64_t scan_reserved;                   /* counted, for the SCAN job that is out */
    uint64_t map_wants;       /* bytes for a large piece that is next to be mapped; 0: none */
    uint32_t n_starved_ticks; /* that it waits for memory which it cannot go on without; 0: none */
    uint32_t n_idle_ticks;    /* of those the latest, in which nobody gave back any */
    uint64_t seen_returned;   /* of the budget, at the last tick */
};

void leat_lane_memory_init(struct leat_lane_memory *memory, const struct leat_plan *plan,
                           struct leat_account *account, void (*forget)(struct leat_block *block));
/* All blocks must be back. */
void leat_lane_memory_deinit(struct leat_lane_memory *memory);
/* Gives back what is not in use. */
void leat_lane_memory_trim(struct leat_lane_memory *memory);
/* Blocks will be of another size. */
void leat_lane_memory_scale(struct leat_lane_memory *memory, uint64_t before_bytes,
                            uint64_t after_bytes);
/* False: nobody limits the account. */
bool leat_lane_memory_is_limited(const struct leat_lane_memory *memory);

/* ---- buffers and blocks ---- */

struct leat_buffer *leat_lane_memory_take_buffer(struct leat_lane_memory *memory);
/* buffer NULL: nothing happens. */
void leat_lane_memory_give_buffer(struct leat_lane_memory *memory, struct leat_buffer *buffer);
/* After a MAP job: its block may have grown. */
void leat_lane_memory_count_block(struct leat_lane_memory *memory, struct leat_block *block,
                                  bool is_large);
/* Before a SCAN job: the size that a buffer may have, of which what is beyond a block is counted
 * until the job is back. */
size_t leat_lane_memory_start_scan(struct leat_lane_memory *memory);
/* After a SCAN job: its buffers may have grown. */
void leat_lane_memory_end_scan(struct leat_lane_memory *memory, const struct leat_scan_job *job);
/* A new pass begins: what the last one wanted is of no use. */
void leat_lane_memory_next_pass(struct leat_lane_memory *memory);

/* ---- how much at once ---- */

/* Bytes that the source would need beyond what it has for n_more blocks behind n_unmapped ones. */
uint64_t leat_lane_memory_growth(const struct leat_lane_memory *memory, size_t n_unmapped,
                                 size_t n_more);
/* Bytes that so many blocks in the queue need. */
uint64_t leat_lane_memory_needed(const struct leat_lane_memory *memory, size_t n_blocks);
/* True if the piece of the entry is larger than a block. */
bool leat_lane_memory_is_large(const struct leat_lane_memory *memory,
                               const struct leat_piece *piece);
/* Bytes that mapping the entry takes more than others, or more than it has. */
uint64_t leat_lane_memory_map_bytes(const struct leat_lane_memory *memory,
                                    const struct leat_queue_entry *entry);
/* The large piece that is next waits for so many bytes; 0: none does. */
void leat_lane_memory_want_map(struct leat_lane_memory *memory, uint64_t n_bytes);

/* The source cannot go on without so many bytes: waits for others to give them back. 0; -ENOMEM:
 * waiting does not help. */
int leat_lane_memory_starve(struct leat_lane_memory *memory, uint64_t n_bytes);
/* The source can go on. */
void leat_lane_memory_feed(struct leat_lane_memory *memory);
/* At each tick: true if the source waits for memory, and is to try again; is_needed: it still has
 * something to do with it. */
bool leat_lane_memory_tick(struct leat_lane_memory *memory, bool is_needed);
/* The failure to report when waiting does not help. n_blocks: that the run has. */
int leat_lane_memory_fail(const struct leat_lane_memory *memory, uint64_t n_bytes,
                          uint32_t n_blocks, struct leat_error *err);
