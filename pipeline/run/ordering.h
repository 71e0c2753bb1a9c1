/* ordering.h: makes batches of references: takes rows from the row feed and pushes them through the
 * order while batches are wanted. Handles bad records and ends of passes. Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/row_feed.h"
#include "pipeline/run/outputs.h"
#include "pipeline/run/own_rows.h"
#include "pipeline/run/pass.h"

struct leat_ordering {
    const struct leat_run_options *options;
    const struct leat_knobs *knobs;
    struct leat_horizon *horizon;
    struct leat_row_feed *feed;
    struct leat_row_fetch *fetch;
    const struct leat_own_rows *own;
    struct leat_bad_records bad;
    struct leat_pass pass;
};

/* The pointers must outlive it. */
int leat_ordering_init(struct leat_ordering *ordering, const struct leat_run_options *options,
                       const struct leat_knobs *knobs, struct leat_horizon *horizon,
                       struct leat_row_feed *feed, struct leat_row_fetch *fetch,
                       const struct leat_own_rows *own, struct leat_error *err);
/* Number of batches that wait in the queue where all blocks are made whole. */
size_t leat_ordering_n_ready(const struct leat_ordering *ordering);
void leat_ordering_deinit(struct leat_ordering *ordering);

/* The first batch or end of an epoch in the queue; NULL: none. */
struct leat_batch_refs *leat_ordering_first(const struct leat_ordering *ordering);
/* The demand of the order. */
struct leat_demand leat_ordering_demand(const struct leat_ordering *ordering, bool has_failed,
                                        bool is_cancelled);
/* True if the run is as far ahead of its trainers as it may be. */
bool leat_ordering_is_at_horizon(const struct leat_ordering *ordering);
/* Bytes of references, of the state of order stages, and of bad records that wait for the disk. */
uint64_t leat_ordering_bytes(const struct leat_ordering *ordering);

/* Consumes rows while batches are wanted. 0; -errno: the run fails. */
int leat_ordering_consume(struct leat_ordering *ordering, bool is_cancelled,
                          struct leat_error *err);
/* Extends the run to n_epochs and n_steps. The end of the run, in the queue or in the outputs, goes
 * or becomes the end of an epoch. 0; -errno: the run fails. */
int leat_ordering_extend(struct leat_ordering *ordering, struct leat_outputs *outputs,
                         uint64_t n_epochs, uint64_t n_steps, struct leat_error *err);
