/* delivery.h: puts batches of references into slots by COLLATE jobs, and hands them out in order
 * with the ends of epochs. Owner: the run's thread. */
#pragma once

#include "pipeline/run/ordering.h"
#include "pipeline/run/profile/figures.h"

struct leat_run_delivery {
    const struct leat_plan *plan;
    const struct leat_knobs *knobs;
    struct leat_horizon *horizon;
    struct leat_job_pool *jobs;
    struct leat_ordering *ordering;
    struct leat_row_fetch *fetch;
    const struct leat_fast_forward *forward;
    uint32_t n_jobs_out;
    uint64_t n_ref_bytes;             /* of references of batches in those jobs */
    struct leat_stream_counts counts; /* of batches that were made */
    struct leat_outputs outputs;
};

/* The ordering, and what it points to, outlive the delivery. */
void leat_run_delivery_init(struct leat_run_delivery *delivery, struct leat_ordering *ordering,
                            struct leat_job_pool *jobs);
void leat_run_delivery_deinit(struct leat_run_delivery *delivery);

/* True if the horizon lets the first batch of the queue be made. */
bool leat_run_delivery_may_make_first(const struct leat_run_delivery *delivery);
/* Bytes that the first batch of the queue needs in a slot; 0: there is none, or it lacks rows. */
size_t leat_run_delivery_slot_need(const struct leat_run_delivery *delivery);
/* True if the first batch of the queue only lacks a slot. */
bool leat_run_delivery_lacks_slot(const struct leat_run_delivery *delivery);
/* True if only trainers hold up the first batch of the queue, or the order if there is none. */
bool leat_run_delivery_is_held(const struct leat_run_delivery *delivery);
/* True if outputs, or batches of the queue, may still go out. */
bool leat_run_delivery_has_more(const struct leat_run_delivery *delivery);

/* Moves ends of epochs from the front of the queue to the outputs. 0 or -ENOMEM: the run fails. */
int leat_run_delivery_move_ends(struct leat_run_delivery *delivery, struct leat_error *err);
/* The next COLLATE job: 1; 0: none is due; -errno: the run fails, with all batches of the queue. */
int leat_run_delivery_job(struct leat_run_delivery *delivery, struct leat_job **ret_job,
                          struct leat_error *err);
/* Takes a job back: its batches may go out, and their blocks are released. */
void leat_run_delivery_end_job(struct leat_run_delivery *delivery, const struct leat_job *job);
