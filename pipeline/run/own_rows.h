/* own_rows.h: makes only the rows of this run's batches, where other runs make the batches of the
 * other ranks.
 *
 * The order needs the rows of all ranks, but not their values. So where their number is known
 * without these, blocks are count-only (fast_forward.h), and the order runs ahead. The next batches
 * of the queue, a *window*, are planned together. Each block is read once for all of them, and only
 * the wanted records are parsed and kept, in a block of their own. Once all blocks of the window
 * are made, its references are changed to these. One window drains while the next one is made.
 *
 * The first windows are small, for a quick first batch. Later ones grow up to some MiB, or up to
 * half of what the order holds, as a block comes again in each window until its last row has left
 * the shuffles. A full shuffle queues all batches of its pass at once: these are one window, if
 * memory is not limited. A bad record of another rank fails the run of that rank. Owner: the run's
 * thread.
 */
#pragma once

#include "pipeline/run/intake/fast_forward.h"
#include "pipeline/run/row_fetch.h"

struct leat_own_rows {
    const struct leat_fast_forward *forward;
    struct leat_row_fetch *fetch;
    struct leat_batcher *batcher;
    struct leat_account *account;
    uint64_t n_held_rows; /* that the order holds; UINT64_MAX: all of a pass */
    uint64_t row_bytes;   /* of the source; the mean of the last window */
    size_t n_wanted;      /* batches of the next window */
    /* of the window that is being made; n_batches 0: none is */
    struct leat_batch_refs **batches;
    size_t n_batches, batches_capacity;
    struct leat_count_only **blocks; /* each is referred to */
    size_t n_blocks, blocks_capacity;
    size_t n_started, n_back; /* of the blocks, from the first one on */
};

/* The pointers must outlive it. */
void leat_own_rows_init(struct leat_own_rows *own, const struct leat_fast_forward *forward,
                        struct leat_row_fetch *fetch, struct leat_batcher *batcher,
                        struct leat_account *account);
void leat_own_rows_deinit(struct leat_own_rows *own);
uint64_t leat_own_rows_bytes(const struct leat_own_rows *own);

/* Number of batches of the next window. */
static inline size_t leat_own_rows_window(const struct leat_own_rows *own, size_t n_ready) {
    return own->n_wanted > n_ready ? own->n_wanted : n_ready;
}
/* Most batches that may wait in the queue; n_ready: where all blocks are made whole. */
static inline size_t leat_own_rows_limit(const struct leat_own_rows *own, size_t n_ready) {
    if (!own->forward->is_own || own->forward->n_blocks == 0)
        return n_ready;
    return own->fetch->n_planned + own->n_batches + leat_own_rows_window(own, n_ready);
}
/* Ends the window if it is made, and begins the next one once its batches are there, or at once
 * (is_short). 1: something has changed; 0: nothing; -ENOMEM. */
int leat_own_rows_advance(struct leat_own_rows *own, size_t n_ready, bool is_short);
/* The next block of the window to be made, with those that the same job makes; NULL: none. */
struct leat_count_only *leat_own_rows_next(struct leat_own_rows *own);
/* Ends the window, as all batches of the queue go. */
void leat_own_rows_abandon(struct leat_own_rows *own);
