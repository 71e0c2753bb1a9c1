/* row_fetch.h: fetches rows of evicted blocks (row_store.h) for the next batches.
 *
 * A full shuffle queues all batches of its pass at once, so the rows that they need are known. The
 * next batches whose rows fit into the bound, a *window*, are planned together. Each block that
 * they need is read once for all of them, in the order of the data. Only the wanted rows are kept,
 * in new, gathered blocks, and the references are changed to these. So an epoch reads the cache
 * about as often as the set is larger than the bound, however many rows a block has. A gathered
 * block serves an eighth of a window, and is freed with its batches: one window drains while the
 * next one fills. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/row_store.h"

/* A reference of a queued batch to a row of an evicted block. */
struct leat_want {
    struct leat_ref *ref;
    struct leat_batch_refs *batch;
    uint32_t target; /* number of the eighth */
    size_t next;     /* want of the same block; SIZE_MAX: none */
};

struct leat_row_fetch {
    struct leat_row_store *store;
    struct leat_batcher *batcher;
    struct leat_account *account;
    size_t n_planned;        /* batches at the front of the queue */
    struct leat_want *wants; /* of the window */
    size_t n_wants, capacity, n_unissued;
    uint32_t n_out;    /* jobs */
    bool is_abandoned; /* The run has failed, and nothing more is fetched. */
};

/* The present bound of a window. */
struct leat_row_fetch_room {
    const struct leat_block_pool *blocks; /* of the gathered blocks */
    uint64_t reserve_bytes;               /* without which reading cannot go on */
    bool nothing_is_made; /* No batch is being made, so none will give memory back. */
};

void leat_row_fetch_init(struct leat_row_fetch *fetch, struct leat_row_store *store,
                         struct leat_batcher *batcher, struct leat_account *account);
void leat_row_fetch_deinit(struct leat_row_fetch *fetch);
/* Bytes of the wants. */
uint64_t leat_row_fetch_bytes(const struct leat_row_fetch *fetch);

/* True if the first batch of the queue has all of its rows. */
bool leat_row_fetch_has_first(const struct leat_row_fetch *fetch);
/* Takes the first batch of the queue, with its blocks pinned (leat_row_store_release()). */
struct leat_batch_refs *leat_row_fetch_take(struct leat_row_fetch *fetch);
/* Takes note that a batch of the queue got its rows otherwise, and pins its blocks. */
void leat_row_fetch_adopt(struct leat_row_fetch *fetch, struct leat_batch_refs *batch);
/* Removes the end of the run from the queue. */
void leat_row_fetch_cut(struct leat_row_fetch *fetch, struct leat_batch_refs *end);
/* Drops that batch, which may be NULL, and all behind it, as the run has failed. */
void leat_row_fetch_abandon(struct leat_row_fetch *fetch, struct leat_batch_refs *first);
/* Drops the first batch that lacks rows, and all behind it, as the run has failed. */
void leat_row_fetch_abandon_absent(struct leat_row_fetch *fetch);

/* Plans the next window once the last one is fetched. 0 or -ENOMEM. */
int leat_row_fetch_plan(struct leat_row_fetch *fetch, const struct leat_row_fetch_room *room);
/* True if rows are left to fetch, and there is room for them; max_jobs: may be out at once. */
bool leat_row_fetch_is_due(const struct leat_row_fetch *fetch,
                           const struct leat_row_fetch_room *room, uint64_t max_jobs);
/* Fills a MAP job with the next blocks, whose rows are gathered in blocks of that pool. file: the
 * cache, in which the blocks may be by now; or NULL. 0 or -ENOMEM. */
int leat_row_fetch_start_job(struct leat_row_fetch *fetch, struct leat_block_pool *blocks,
                             struct leat_cache_file *file, struct leat_map_job *ret_job);
void leat_row_fetch_end_job(struct leat_row_fetch *fetch, struct leat_map_job *job);
