/* row_store.h: blocks that wait in a full shuffle, with or without their values, where the run has
 * a cache or an index.
 *
 * A block that only a stage holds may be *evicted*, as it is in the cache or can be made again. It
 * keeps what order stages read (lengths, scalars, marks), and drops the values and starts of its
 * lists. Eviction begins when such blocks exceed `max_bytes`, or memory is short. From then on each
 * block is evicted as it leaves the block queue, until no evicted block is left. row_fetch.h
 * fetches their rows for the next batches.
 *
 * The values come back unchanged: a frame has a checksum, and a block that is made again from the
 * source is compared with it. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/batcher.h"
#include "pipeline/run/intake/block_queue.h"

/* A block that may be evicted, or is evicted. */
struct leat_resident {
    struct leat_resident *next, *previous; /* in `here` or in `evicted` */
    struct leat_row_store *store;
    struct leat_block *block;
    struct leat_cache_file *file; /* that has the frame; NULL: unknown */
    struct leat_cache_frame frame;
    uint64_t n_bytes;  /* counted while it has its values */
    size_t first_want; /* of its rows (row_fetch.h); SIZE_MAX: none */
};

struct leat_resident_list {
    struct leat_resident *first, *last;
};

struct leat_row_store {
    const struct leat_plan *plan;
    bool keeps_records; /* The records of rows of a batch are needed. */
    uint64_t max_bytes; /* 0: no block is ever evicted */
    bool pins; /* Blocks of batches that are being made are pinned, as they could be evicted
                           or thinned. */
    struct leat_resident_list here, evicted; /* evicted: in the order of the data */
    uint64_t here_bytes;
    size_t n_all;
    bool is_evicting;             /* Each block is evicted at once. */
    struct leat_resident *cursor; /* the next evicted block whose rows are fetched */
};

/* may_evict: the run has a cache or an index. */
void leat_row_store_init(struct leat_row_store *store, const struct leat_plan *plan, bool may_evict,
                         bool keeps_records);
/* Bytes of the store itself. */
uint64_t leat_row_store_bytes(const struct leat_row_store *store);
/* Forgets a block that is freed. */
void leat_row_store_forget(struct leat_block *block);

/* Adds the block of an entry that leaves the queue, if a stage holds it and it may be evicted.
 * is_of_index: the file of the entry has no values. */
void leat_row_store_add(struct leat_row_store *store, const struct leat_queue_entry *entry,
                        bool is_of_index);
/* Evicts all blocks that can be, as memory is short. False: none could be. */
bool leat_row_store_evict(struct leat_row_store *store);

/* Goes through the evicted blocks: the next one, or NULL. */
void leat_row_store_rewind(struct leat_row_store *store);
struct leat_resident *leat_row_store_next(struct leat_row_store *store);
/* Finds the frame of the block in the cache file, which may be NULL, if it has been written by now.
 */
void leat_resident_find_frame(struct leat_resident *resident, struct leat_cache_file *file);

/* Pins the blocks of a batch until it is released. */
void leat_row_store_pin(const struct leat_row_store *store, struct leat_batch_refs *batch);
void leat_row_store_release(const struct leat_row_store *store, struct leat_batch_refs *batch);
void leat_row_store_pin_row(const struct leat_ref *ref);
