/* batcher.h: puts rows together into batches. One thread: the run's.
 *
 * The batcher is the end of the chain of ORDER stages. It closes a batch as soon as no further row
 * could be in it: the batch has all its rows, one more would exceed max_tokens however short it is,
 * or the row that comes does not fit. Batches are numbered when they are closed, over all ranks.
 * When all ranks have one more (a round), the batches of the run's ranks that are not before the
 * start go to the queue, as many as are wanted. Those beyond wait until more are wanted; all others
 * are let go.
 *
 * With `bucket: {boundaries}` each bucket has an open batch of its own. With `bucket: {window}`
 * rows are gathered, sorted by length and cut into batches from the shortest on, which are closed
 * in random order. What is left, less than a batch of the longest rows, is gathered again.
 *
 * Where the order has lanes (order.h), each has open batches and a window of its own. Its closed
 * batches wait for their turn: a step is the next batch of the lane behind that of the step before.
 * At the end of the epoch a lane that has no more batches drops out.
 */
#pragma once

#include "pipeline/order/batch_refs.h"
#include "pipeline/plan/plan.h"

/* A batch that takes rows. */
struct leat_open_batch {
    struct leat_batch_refs *refs; /* NULL: none yet */
    uint64_t capacity;
    uint64_t longest; /* tokens of its longest row, padded */
};

struct leat_gathered_row {
    struct leat_ref ref;
    uint32_t length;
    uint32_t place; /* in the order of arrival */
};

struct leat_batch_list {
    struct leat_batch_refs *first, **last;
    size_t n_batches;
    uint64_t n_bytes;
};

/* Where the rows of a lane of the order become batches. */
struct leat_batch_lane {
    struct leat_order_sink sink;
    struct leat_batcher *batcher;
    struct leat_open_batch *open;       /* [n_open of the batcher]: of each bucket */
    struct leat_gathered_row *gathered; /* for the window; grows up to it and a batch */
    size_t n_gathered, n_carried, gathered_capacity;
    struct leat_rng rng;           /* for the order of batches of a window */
    struct leat_batch_list closed; /* in order; they wait for their turn */
    uint64_t n_idle_rows;          /* without values, whose batches other runs make */
};

struct leat_batcher {
    const struct leat_plan *plan;
    uint64_t first_rank, n_ranks, world_size;
    uint64_t first_epoch, first_step;
    uint64_t n_left;   /* batches that are still wanted in the queue; UINT64_MAX: all */
    uint64_t n_queued; /* that came to it */
    uint64_t round_phase;
    uint64_t epoch, step; /* the next; at the end of the epoch: how many it has */
    uint64_t n_closed;    /* batches of the epoch, before `uneven` */
    uint64_t n_rounds;    /* whole ones */
    uint64_t round_start, round_end;
    uint64_t n_round_skipped;       /* steps of this round, so far */
    uint64_t next_epoch, next_step; /* behind the last in the queue */
    struct leat_batch_lane *lanes;  /* [n_lanes] */
    size_t n_lanes, turn;           /* whose batch is the next step */
    size_t n_open;
    bool is_plain;                 /* A batch is closed when it has all its rows. */
    struct leat_batch_list round;  /* closed, in order; their round is not whole */
    struct leat_batch_list beyond; /* closed, in order, and not wanted yet */
    struct leat_batch_list queue;  /* closed, in order */
};

/* Says which batches are wanted and how they are numbered, as struct leat_run_options (run.h). */
struct leat_sequence {
    uint64_t seed;
    uint64_t first_epoch, first_step;
    uint64_t n_steps; /* 0: all */
    uint64_t first_rank, n_ranks, world_size;
    uint64_t round_phase;
};

/* The batcher must stay where it is. */
int leat_batcher_init(struct leat_batcher *batcher, const struct leat_plan *plan,
                      const struct leat_sequence *wanted, struct leat_error *err);
void leat_batcher_deinit(struct leat_batcher *batcher);
void leat_batcher_start_epoch(struct leat_batcher *batcher, uint64_t seed, uint64_t epoch);
/* Adds rows without values to lanes whose batches other runs make alone: n_rows of each lane. 0;
 * -errno. */
int leat_batcher_add_idle_rows(struct leat_batcher *batcher, const uint64_t *n_rows,
                               struct leat_error *err);
/* The number of rows that may come before a batch is closed, with that which closes it; 1: unknown.
 */
uint64_t leat_batch_lane_room(const struct leat_batch_lane *lane);
/* Closes the open batches, or drops them if the plan drops last batches. */
int leat_batcher_flush(struct leat_batcher *batcher, struct leat_error *err);
/* Ends the epoch: `uneven` decides about steps that are no whole round. */
int leat_batcher_end_round(struct leat_batcher *batcher, struct leat_error *err);
/* Queues the end of the epoch behind all batches that are wanted. */
int leat_batcher_add_end(struct leat_batcher *batcher, bool is_last);
/* Sets how many batches are wanted in all, from the start; 0: all. No end that is_last is queued.
 */
void leat_batcher_want(struct leat_batcher *batcher, uint64_t n_steps);

/* True if the next batch comes before the first that is wanted. */
bool leat_batcher_is_before_first(const struct leat_batcher *batcher);

struct leat_batch_refs *leat_batcher_pop(struct leat_batcher *batcher);
/* Drops that batch of the queue and all behind it. */
void leat_batcher_cut(struct leat_batcher *batcher, struct leat_batch_refs *first);

/* The number of rows that wait in open batches and windows of all lanes at most. */
uint64_t leat_batcher_holds(const struct leat_plan *plan);
/* Bytes of references that it has now; and that it and n_closed batches take at most. */
uint64_t leat_batcher_bytes(const struct leat_batcher *batcher);
uint64_t leat_batcher_max_bytes(const struct leat_plan *plan, uint64_t n_closed);
