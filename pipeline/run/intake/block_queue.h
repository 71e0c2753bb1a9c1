/* block_queue.h: the queue of blocks between reading and the order. Blocks leave it in the order of
 * the data, in whatever order they were mapped.
 *
 * An entry begins as a piece of the source (SCANNED) or a frame of a cache (CACHED). It is mapped
 * (MAPPING, or PARKED between two stages that are jobs of their own) and then has a block (MAPPED),
 * whose rows and bad records are taken in the order of the data. A full queue stops the scanner,
 * which is the back-pressure of the whole pipeline. Owner: the run's thread.
 */
#pragma once

#include "pipeline/block/block.h"
#include "pipeline/work/map.h"

enum leat_entry_state {
    LEAT_ENTRY_CACHED,
    LEAT_ENTRY_SCANNED,
    LEAT_ENTRY_MAPPING,
    LEAT_ENTRY_PARKED, /* Some of its stages are done; is_unfused alone. */
    LEAT_ENTRY_MAPPED,
    LEAT_ENTRY_PASS_END
};

struct leat_queue_entry {
    struct leat_queue_entry *next;
    enum leat_entry_state state;
    uint64_t epoch, pass;
    struct leat_piece piece;   /* has a buffer in SCANNED, MAPPING; PASS_END: number of records */
    struct leat_block *block;  /* MAPPING, MAPPED */
    uint64_t cache_generation; /* of the run's cache when the entry was added */
    struct leat_cache_file *file;  /* that has the frame; NULL: the block is made from the piece */
    struct leat_cache_frame frame; /* without a file: what the block is in a cache, but for its
                                      place; n_bytes 0: unknown */
    struct leat_cache_item *item;  /* MAPPED: the block as it goes to the cache; else NULL */
    uint32_t next_row, next_bad;
    uint32_t from_record,
        to_record;           /* range of records that rows are taken of; 0, UINT32_MAX: all */
    uint64_t *n_idle_rows;   /* of each lane of the order, which get them before; NULL: none do */
    uint32_t order_lane;     /* to which its rows go */
    bool is_for_cache;       /* Its rows do not go to the order. */
    struct leat_job *parked; /* PARKED: has the block and its scratch memory */
    struct leat_error error; /* of the MAP job; PASS_END: of reading */
};

struct leat_block_queue {
    struct leat_queue_entry *first, **last;
    size_t n_blocks, n_ends;
};

void leat_block_queue_init(struct leat_block_queue *queue);

/* Adds a copy of the entry; NULL: no memory. */
struct leat_queue_entry *leat_block_queue_add(struct leat_block_queue *queue,
                                              const struct leat_queue_entry *entry);
/* Takes the first entry, which must exist. The caller frees it and what it owns. */
struct leat_queue_entry *leat_block_queue_take(struct leat_block_queue *queue);
/* The first entry that is SCANNED, CACHED or PARKED; NULL: none. */
struct leat_queue_entry *leat_block_queue_next_unmapped(const struct leat_block_queue *queue);
/* Number of blocks that are not MAPPED. */
size_t leat_block_queue_n_unmapped(const struct leat_block_queue *queue);
/* Number of records of that epoch. Without with_unmapped, only blocks whose mapping has begun
 * count. A block of unknown size counts 1. */
uint64_t leat_block_queue_n_records(const struct leat_block_queue *queue, uint64_t epoch,
                                    bool with_unmapped);

/* True if the entry is of an earlier pass than that one. */
static inline bool leat_queue_entry_is_stale(const struct leat_queue_entry *entry, uint64_t epoch,
                                             uint64_t pass) {
    return entry->epoch < epoch || (entry->epoch == epoch && entry->pass < pass);
}

void leat_queue_entry_start_map(struct leat_queue_entry *entry, struct leat_block *block);
void leat_queue_entry_end_map(struct leat_queue_entry *entry, const struct leat_error *error);
/* The job stays in the entry until its next stage. */
void leat_queue_entry_park(struct leat_queue_entry *entry, struct leat_job *job);
struct leat_job *leat_queue_entry_unpark(struct leat_queue_entry *entry);
/* Gives the entry a count-only block (fast_forward.h), with which it is MAPPED. */
void leat_queue_entry_set_count_only(struct leat_queue_entry *entry, struct leat_block *block);
/* Takes the buffer of the piece; NULL: it has none. */
struct leat_buffer *leat_queue_entry_take_buffer(struct leat_queue_entry *entry);
/* Gives the entry its block as it goes to the cache; takes it, or NULL. */
void leat_queue_entry_give_item(struct leat_queue_entry *entry, struct leat_cache_item *item);
struct leat_cache_item *leat_queue_entry_take_item(struct leat_queue_entry *entry);

/* The record of the next row, at most to_record. */
static inline uint32_t leat_queue_entry_next_record(const struct leat_queue_entry *entry) {
    const struct leat_block *block = entry->block;
    uint32_t record = block->n_records;

    if (entry->next_row < block->n_rows)
        record = block->records ? block->records[entry->next_row] : entry->next_row;
    return record < entry->to_record ? record : entry->to_record;
}

static inline bool leat_queue_entry_has_row(const struct leat_queue_entry *entry) {
    return entry->next_row < entry->block->n_rows &&
           leat_queue_entry_next_record(entry) < entry->to_record;
}

/* True if the block has bad records that were not taken yet. */
static inline bool leat_queue_entry_has_bad(const struct leat_queue_entry *entry) {
    return entry->next_bad < entry->block->n_bad;
}

/* Skips the rows in front of from_record. */
void leat_queue_entry_skip_rows(struct leat_queue_entry *entry);
/* Takes the next bad record in front of that row (UINT32_MAX: any row) that is in range; NULL:
 * none. */
const struct leat_bad_record *leat_queue_entry_take_bad(struct leat_queue_entry *entry,
                                                        uint32_t before_row);
/* Number of records in range that were read by now. */
uint64_t leat_queue_entry_n_read(const struct leat_queue_entry *entry);
