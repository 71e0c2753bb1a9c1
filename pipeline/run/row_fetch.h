/* row_fetch.h: rows of evicted blocks (row_store.h), fetched for the next batches.
 *
 * A full shuffle puts all batches of its pass in the queue at once, so what will be needed is
 * known. The next batches, as many as their rows fit into the bound (a *window*), are planned
 * together: each block that they need is read once for all of them, in the order of the data, and
 * only the rows that they want are kept, as rows of new, gathered blocks to which their references
 * are turned. So an epoch reads the cache about as often as the set is larger than the bound,
 * however many rows a block has. Gathered blocks are made for an eighth of a window each, and go as
 * its batches do: while one window drains, the next fills. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/row_store.h"

/* A reference of a queued batch to a row that is not here. Its batch stays in the queue as long as
 * the window is not abandoned. */
struct leat_want {
    struct leat_ref *ref;
    struct leat_batch_refs *batch;
    uint32_t target; /* which eighth */
    size_t next;     /* of the same block */
};

struct leat_row_fetch {
    struct leat_row_store *store;
    struct leat_batcher *batcher;
    struct leat_account *account;
    size_t n_planned;        /* batches at the front of the queue */
    struct leat_want *wants; /* of the window */
    size_t n_wants, capacity, n_unissued;
    uint32_t n_out;    /* jobs */
    bool is_abandoned; /* The run has failed, and what is not here never will be. */
};

/* What a window may take now. */
struct leat_row_fetch_room {
    const struct leat_block_pool *blocks; /* from which gathered blocks are */
    uint64_t reserve_bytes;               /* that reading ahead cannot do without */
    bool nothing_is_made;                 /* No batch is being made: none will give memory back. */
};

void leat_row_fetch_init(struct leat_row_fetch *fetch, struct leat_row_store *store,
                         struct leat_batcher *batcher, struct leat_account *account);
void leat_row_fetch_deinit(struct leat_row_fetch *fetch);
/* Bytes of what it knows of wanted rows. */
uint64_t leat_row_fetch_bytes(const struct leat_row_fetch *fetch);

/* True if the first batch in the queue has all of its rows. */
bool leat_row_fetch_has_first(const struct leat_row_fetch *fetch);
/* Takes the first batch out of the queue, with its blocks pinned (leat_row_store_release()). */
struct leat_batch_refs *leat_row_fetch_take(struct leat_row_fetch *fetch);
/* Takes an end of the run out of the queue of batches, and all behind it. */
void leat_row_fetch_cut(struct leat_row_fetch *fetch, struct leat_batch_refs *end);
/* The run has failed: lets go of that batch and of all behind it; `first` NULL: of none. */
void leat_row_fetch_abandon(struct leat_row_fetch *fetch, struct leat_batch_refs *first);
/* The run has failed: lets go of the first batch that lacks rows, and of all behind it. */
void leat_row_fetch_abandon_absent(struct leat_row_fetch *fetch);

/* Plans the next window, if it is time. 0 or -ENOMEM. */
int leat_row_fetch_plan(struct leat_row_fetch *fetch, const struct leat_row_fetch_room *room);
/* True if a job has something to fetch, and there is room for it; max_jobs: so many may be out. */
bool leat_row_fetch_is_due(const struct leat_row_fetch *fetch,
                           const struct leat_row_fetch_room *room, uint64_t max_jobs);
/* Fills a MAP job with the next blocks; rows are gathered in blocks of that
 * pool; file: where they may be by now, or NULL. 0 or -ENOMEM. */
int leat_row_fetch_start_job(struct leat_row_fetch *fetch, struct leat_block_pool *blocks,
                             struct leat_cache_file *file, struct leat_map_job *ret_job);
void leat_row_fetch_end_job(struct leat_row_fetch *fetch, struct leat_map_job *job);
