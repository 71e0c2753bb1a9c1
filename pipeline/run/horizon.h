/* horizon.h: how far a run works ahead of its trainers. It bounds work, and never changes batches.
 *
 * All of an epoch that a trainer has begun may be made, and the first batches of the next epoch
 * (`prefetch`). For these only as many blocks are read and mapped as fill the order, then one block
 * at a time. Beyond the next epoch nothing is done. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"
#include "pipeline/run/options.h"

struct leat_horizon {
    bool has_prefetch, only_builds;
    uint64_t reached;            /* the latest epoch that a trainer has begun */
    uint64_t n_next;             /* batches that may be made of the next epoch */
    uint64_t n_rows;             /* that these take, about */
    uint64_t n_queued_before;    /* batches of the epochs before the consumed one */
    uint64_t n_credit;           /* batches for which trainers have room */
    uint64_t made_epoch, n_made; /* batches of that epoch that were put into slots */
};

/* Where the order stands. */
struct leat_horizon_place {
    uint64_t epoch;        /* being consumed */
    uint64_t n_queued;     /* batches that were ever queued */
    uint64_t n_epoch_rows; /* that the order took in this epoch */
};

void leat_horizon_init(struct leat_horizon *horizon, const struct leat_plan *plan,
                       const struct leat_run_options *options);

/* A trainer has begun that epoch. */
void leat_horizon_reach(struct leat_horizon *horizon, uint64_t epoch);
/* Counts a batch of that epoch that is put into a slot. */
void leat_horizon_count_made(struct leat_horizon *horizon, uint64_t epoch);

/* Most batches in slots that are not taken yet; n_ready: the knob's value. */
uint64_t leat_horizon_max_ahead(const struct leat_horizon *horizon, uint64_t n_ready);
/* True if the order, which consumes that epoch and has queued n_queued batches, wants no rows now.
 */
static inline bool leat_horizon_is_reached(const struct leat_horizon *horizon, uint64_t epoch,
                                           uint64_t n_queued) {
    return epoch > horizon->reached &&
           (epoch > horizon->reached + 1 || n_queued - horizon->n_queued_before >= horizon->n_next);
}
/* True if more of that epoch may be read into the queue. */
bool leat_horizon_may_scan(const struct leat_horizon *horizon,
                           const struct leat_horizon_place *place,
                           const struct leat_block_queue *queue, uint64_t epoch);
/* True if that entry of the queue may be mapped. */
bool leat_horizon_may_map(const struct leat_horizon *horizon,
                          const struct leat_horizon_place *place,
                          const struct leat_block_queue *queue,
                          const struct leat_queue_entry *entry);
/* True if a batch of that epoch may be made. */
bool leat_horizon_may_make(const struct leat_horizon *horizon, uint64_t epoch);
