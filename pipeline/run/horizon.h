/* horizon.h: how far a run works ahead of its trainers.
 *
 * Batches do not depend on it; work does: of the epoch that a trainer has begun all may be made,
 * and of the next one the first batches (`prefetch`). What those need is read and mapped, and no
 * more: the blocks that fill what the order holds, then one block after the other. Beyond the next
 * epoch nothing is done. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"
#include "pipeline/run/options.h"

struct leat_horizon {
    bool has_prefetch, only_builds;
    uint64_t reached;            /* the latest epoch that a trainer has begun */
    uint64_t n_next;             /* batches that may be made of the next epoch, */
    uint64_t n_rows;             /* and rows that these take, about */
    uint64_t n_queued_before;    /* batches of the epochs before the one that is consumed */
    uint64_t n_credit;           /* batches that trainers would be told of at once */
    uint64_t made_epoch, n_made; /* batches of that epoch that were put into slots */
};

/* Where the order stands. */
struct leat_horizon_place {
    uint64_t epoch;        /* that is being consumed */
    uint64_t n_queued;     /* batches that came to the queue of batches, of all epochs */
    uint64_t n_epoch_rows; /* that the order took in this epoch */
};

void leat_horizon_init(struct leat_horizon *horizon, const struct leat_plan *plan,
                       const struct leat_run_options *options);

/* A trainer has begun that epoch. */
void leat_horizon_reach(struct leat_horizon *horizon, uint64_t epoch);
void leat_horizon_set_credit(struct leat_horizon *horizon, uint64_t n_batches);
/* The next epoch is consumed; so many batches came to the queue before it. */
void leat_horizon_start_epoch(struct leat_horizon *horizon, uint64_t n_queued);
/* A batch of that epoch was put into a slot. */
void leat_horizon_count_made(struct leat_horizon *horizon, uint64_t epoch);

/* Batches in slots that nobody has taken yet, at most; n_ready: as the knob says. */
uint64_t leat_horizon_max_ahead(const struct leat_horizon *horizon, uint64_t n_ready);
/* True if the order, which consumes that epoch, wants no more rows now: so many batches came to the
 * queue of batches. */
static inline bool leat_horizon_is_reached(const struct leat_horizon *horizon, uint64_t epoch,
                                           uint64_t n_queued) {
    return epoch > horizon->reached &&
           (epoch > horizon->reached + 1 || n_queued - horizon->n_queued_before >= horizon->n_next);
}
/* True if a pass of that epoch may be read on into the queue. */
bool leat_horizon_may_scan(const struct leat_horizon *horizon,
                           const struct leat_horizon_place *place,
                           const struct leat_block_queue *queue, uint64_t epoch);
/* True if that block of the queue may be mapped. */
bool leat_horizon_may_map(const struct leat_horizon *horizon,
                          const struct leat_horizon_place *place,
                          const struct leat_block_queue *queue,
                          const struct leat_queue_entry *entry);
/* True if a batch of that epoch may be made. */
bool leat_horizon_may_make(const struct leat_horizon *horizon, uint64_t epoch);
