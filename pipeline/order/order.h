/* order.h: the chain of ORDER stages of a run, with the batcher at its end (batcher.h). One thread:
 * the run's.
 *
 * References are pushed in at the top, in the order of the data; each stage passes on what it will.
 * A `shuffle` with `lanes` deals the blocks of a pass to lanes. Each lane has a chain of its own,
 * and the batcher takes their batches by turns. Else there is one lane.
 */
#pragma once

#include "pipeline/order/batcher.h"

struct leat_order_node;

struct leat_order {
    const struct leat_plan *plan;
    struct leat_order_node *nodes; /* [n_lanes][plan->n_order] */
    size_t n_lanes;
    struct leat_batcher batcher;
    uint64_t seed;
    bool may_evict;  /* see leat_order_key */
    bool passes_one; /* each row that is pushed lets one reach the batcher at most */
    /* of this pass: rows that `repeat` passed on, and those of them that were dropped behind it;
     * where a row becomes several, it counts as dropped, and they as passed on */
    uint64_t n_repeated, n_filtered;
    uint32_t n_idle_passes; /* passes in a row that left no row */
};

/* The order must stay where it is. */
int leat_order_init(struct leat_order *order, const struct leat_plan *plan,
                    const struct leat_sequence *wanted, struct leat_error *err);
void leat_order_deinit(struct leat_order *order);

/* Bytes that its stages keep, and those of batches. */
uint64_t leat_order_bytes(const struct leat_order *order);

/* Starts an epoch: all stages and the numbering of steps. */
int leat_order_start_epoch(struct leat_order *order, uint64_t epoch, struct leat_error *err);

/* Pushes rows of a block that follow each other into that lane, and counts their references. *n:
 * in: rows that there are; out: those that were pushed, at least one, and none behind one that
 * closes a batch. 0; LEAT_ORDER_DONE: this pass needs no more rows; LEAT_ORDER_EPOCH_DONE: nor any
 * further pass of the epoch. */
#define LEAT_ORDER_EPOCH_DONE 2
int leat_order_feed(struct leat_order *order, size_t lane, struct leat_block *block, uint32_t row,
                    uint32_t *n, struct leat_error *err);

/* Ends a pass, once its rows are in. *with_next in: another pass of `repeat` is wanted; out: it
 * follows: what stands before `repeat` was flushed and started anew. Else everything was flushed,
 * with the last batch. It does not follow LEAT_IDLE_PASSES_MAX passes in a row of which filters
 * (or a skip before `repeat`) left no row: a repeat without end would turn for ever. More than one,
 * since a shuffle may give the next pass other rows. */
#define LEAT_IDLE_PASSES_MAX 100
int leat_order_end_pass(struct leat_order *order, uint64_t epoch, uint64_t pass, bool *with_next,
                        struct leat_error *err);
