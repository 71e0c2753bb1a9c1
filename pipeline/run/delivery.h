/* delivery.h: batches of references become batches in slots (COLLATE jobs), and go out in order
 * with the ends of epochs. Owner: the run's thread. */
#pragma once

#include "pipeline/run/collation.h"
#include "pipeline/run/ordering.h"

struct leat_run_delivery {
    const struct leat_plan *plan;
    const struct leat_knobs *knobs;
    struct leat_horizon *horizon;
    struct leat_job_pool *jobs;
    struct leat_ordering *ordering;
    struct leat_row_fetch *fetch;
    const struct leat_fast_forward *forward;
    struct leat_collation collation;
    struct leat_outputs outputs;
};

/* Of an ordering; what is pointed to outlives it. */
void leat_run_delivery_init(struct leat_run_delivery *delivery, struct leat_ordering *ordering,
                            struct leat_job_pool *jobs);
void leat_run_delivery_deinit(struct leat_run_delivery *delivery);

/* True if the first batch of the queue may be made by now, as far as trainers go. */
bool leat_run_delivery_may_make_first(const struct leat_run_delivery *delivery);
/* Bytes that the first batch of the queue needs; 0: there is none, or it is not here. */
size_t leat_run_delivery_slot_need(const struct leat_run_delivery *delivery);
/* True if the first batch of the queue could be made now, in a slot that is large enough. */
bool leat_run_delivery_has_pending(const struct leat_run_delivery *delivery);
/* True if the first batch of the queue, or without one the order, waits for nothing but trainers.
 */
bool leat_run_delivery_is_held(const struct leat_run_delivery *delivery);
/* True if what is queued, or is among the outputs, may still go out. */
bool leat_run_delivery_has_more(const struct leat_run_delivery *delivery);

/* Moves ends of epochs that are next in the queue to the outputs. 0 or -ENOMEM: the run fails. */
int leat_run_delivery_move_ends(struct leat_run_delivery *delivery, struct leat_error *err);
/* The next COLLATE job: 1; 0: there is none now; -errno: the run fails, and nothing that is queued
 * can be handed out. */
int leat_run_delivery_job(struct leat_run_delivery *delivery, struct leat_job **ret_job,
                          struct leat_error *err);
void leat_run_delivery_end_job(struct leat_run_delivery *delivery, struct leat_job *job);
