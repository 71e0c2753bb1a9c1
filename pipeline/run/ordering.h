/* ordering.h: from rows to batches of references: takes rows of the queues of blocks, and pushes
 * them through the order, while batches are wanted. Bad records and ends of passes are met on the
 * way. Owner: the run's thread. */
#pragma once

#include "pipeline/run/intake/row_feed.h"
#include "pipeline/run/outputs.h"
#include "pipeline/run/pass.h"
#include "pipeline/run/row_fetch.h"

struct leat_ordering {
    const struct leat_run_options *options;
    const struct leat_knobs *knobs;
    struct leat_horizon *horizon;
    struct leat_row_feed *feed;
    struct leat_row_fetch *fetch;
    struct leat_bad_records bad;
    struct leat_pass pass;
};

/* What is pointed to outlives it. */
int leat_ordering_init(struct leat_ordering *ordering, const struct leat_run_options *options,
                       const struct leat_knobs *knobs, struct leat_horizon *horizon,
                       struct leat_row_feed *feed, struct leat_row_fetch *fetch,
                       struct leat_error *err);
void leat_ordering_deinit(struct leat_ordering *ordering);

/* The first batch of the queue, or end of an epoch; NULL: none. */
struct leat_batch_refs *leat_ordering_first(const struct leat_ordering *ordering);
/* What the order wants at the moment. */
struct leat_demand leat_ordering_demand(const struct leat_ordering *ordering, bool has_failed,
                                        bool is_cancelled);
/* True if the run is as far ahead of its trainers as it may be. */
bool leat_ordering_is_at_horizon(const struct leat_ordering *ordering);
/* True if the run wants no more rows at all. */
bool leat_ordering_is_complete(const struct leat_ordering *ordering);
/* Bytes of what it remembers of records, and of references to them; and of bad ones that are to be
 * written. */
uint64_t leat_ordering_bytes(const struct leat_ordering *ordering);

/* Consumes rows while batches are wanted, which is the back-pressure of the whole pipeline. 0, or
 * -errno: the run fails. */
int leat_ordering_consume(struct leat_ordering *ordering, bool is_cancelled,
                          struct leat_error *err);
/* The run ends later than it was told: so many epochs and steps are wanted in all. Its queued end
 * goes, or becomes one among others, here or in the outputs. 0, or -errno: the run fails. */
int leat_ordering_extend(struct leat_ordering *ordering, struct leat_outputs *outputs,
                         uint64_t n_epochs, uint64_t n_steps, struct leat_error *err);
