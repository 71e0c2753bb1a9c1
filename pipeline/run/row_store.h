/* row_store.h: blocks that wait in a full shuffle, where there is a cache or an index: with their
 * values, or without.
 *
 * A block that a stage only holds, and that is in the cache or can be made again, may be *evicted*:
 * it keeps what order stages look at (lengths, scalars, marks), and lets go of the values and
 * starts of its lists. That begins when such blocks take more than `max_bytes`, or memory is short;
 * from then on each is evicted as it leaves the queue of blocks, until none is left. Their rows are
 * fetched for the next batches by row_fetch.h.
 *
 * Values are those that were there before: a frame has a checksum, and what is made again from the
 * source is compared with it. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/batcher.h"
#include "pipeline/run/intake/block_queue.h"

/* A block that may be evicted, or is. */
struct leat_resident {
    struct leat_resident *next, *previous; /* of those that are here, or of those that are not */
    struct leat_row_store *store;
    struct leat_block *block;
    struct leat_cache_file *file;  /* with the frame; NULL: not known to be in one */
    struct leat_cache_frame frame; /* what its bytes are */
    uint64_t n_bytes;              /* counted while it is here */
    size_t first_want; /* the first row that is wanted of it (row_fetch.h); SIZE_MAX: none */
};

struct leat_resident_list {
    struct leat_resident *first, *last;
};

struct leat_row_store {
    const struct leat_plan *plan;
    bool keeps_records; /* Which records rows are of is asked of batches. */
    uint64_t max_bytes; /* 0: nothing is ever evicted */
    bool pins;          /* Blocks of batches that are made are pinned: they may be evicted, or
                           thinned. */
    struct leat_resident_list here, evicted; /* evicted: in the order of the data */
    uint64_t here_bytes;
    size_t n_all;
    bool is_evicting;             /* each at once */
    struct leat_resident *cursor; /* the next of the evicted of which rows are fetched */
};

/* may_evict: the run has a cache or an index. */
void leat_row_store_init(struct leat_row_store *store, const struct leat_plan *plan, bool may_evict,
                         bool keeps_records);
/* Bytes of what it knows of blocks. */
uint64_t leat_row_store_bytes(const struct leat_row_store *store);
/* A block goes, evicted or not, or count-only. */
void leat_row_store_forget(struct leat_block *block);

/* An entry leaves the queue: takes its block, if a stage holds it and it may be evicted.
 * is_of_index: its file has no values. */
void leat_row_store_add(struct leat_row_store *store, const struct leat_queue_entry *entry,
                        bool is_of_index);
/* Memory is short: evicts all that can be; false: there was nothing. */
bool leat_row_store_evict(struct leat_row_store *store);
/* True if some block is evicted. */
bool leat_row_store_has_evicted(const struct leat_row_store *store);

/* Goes through evicted blocks from the first one on: the next, or NULL. */
void leat_row_store_rewind(struct leat_row_store *store);
struct leat_resident *leat_row_store_next(struct leat_row_store *store);
/* Finds the block in the cache file (NULL: there is none), if it was on its way there. */
void leat_resident_find_frame(struct leat_resident *resident, struct leat_cache_file *file);
void leat_resident_set_want(struct leat_resident *resident, size_t first_want);

/* The blocks of a batch stay until it is released. */
void leat_row_store_pin(const struct leat_row_store *store, struct leat_batch_refs *batch);
void leat_row_store_release(const struct leat_row_store *store, struct leat_batch_refs *batch);
void leat_row_store_pin_row(const struct leat_ref *ref);
