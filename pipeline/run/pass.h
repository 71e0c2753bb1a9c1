/* pass.h: the pass and epoch that are consumed, and where the run ends.
 *
 * A run that has all wanted batches is at its limit: it reads, maps and orders nothing more, and
 * queues an end like that of an epoch. The order keeps its rows until that end is taken, so a run
 * that is extended takes the end out of the queue and goes on. If the last batch came with the end
 * of its pass, the end of the epoch is pending. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/order.h"
#include "pipeline/run/bad_records.h"
#include "pipeline/run/options.h"

struct leat_pass {
    const struct leat_plan *plan;
    struct leat_order order;
    uint64_t first_epoch, n_epochs; /* n_epochs 0: without end */
    uint64_t n_steps;               /* 0: all */
    uint64_t epoch, pass;           /* being consumed */
    uint64_t n_rows;                /* pushed into the order, of all passes */
    uint64_t n_pass_rows;           /* of this pass */
    uint64_t n_epoch_rows;          /* of the earlier passes of the epoch */
    uint64_t n_epoch_records;       /* read in the epoch */
    bool is_complete;               /* The last epoch went through the order, or is_at_limit. */
    bool is_at_limit;               /* All wanted batches are queued. */
    bool has_pending_end;           /* At the limit: the end of the epoch is not queued yet. */
    struct leat_error late_error;   /* of the order, behind the limit; code 0: none */
};

int leat_pass_init(struct leat_pass *pass, const struct leat_plan *plan,
                   const struct leat_run_options *options, bool may_evict, struct leat_error *err);
void leat_pass_deinit(struct leat_pass *pass);

bool leat_pass_wants_epoch(const struct leat_pass *pass, uint64_t epoch);

/* The step after a row, or after the end of a pass; -errno: the run fails. */
enum {
    LEAT_PASS_GOES_ON = 0,
    LEAT_PASS_IS_OVER,       /* The order wants no more rows of this pass. */
    LEAT_PASS_EPOCH_IS_OVER, /* A stage behind `repeat` wants no further pass of the epoch. */
    LEAT_PASS_STALLS,        /* The order failed behind the last wanted batch. */
};

/* Pushes rows of a block into that lane of the order, as leat_order_feed() does. */
int leat_pass_push(struct leat_pass *pass, size_t lane, struct leat_block *block, uint32_t row,
                   uint32_t *n, struct leat_error *err);
/* Ends the pass, and goes to the next one. epoch_is_over: no further pass of the epoch is wanted.
 * The epoch stays while its end is pending. */
int leat_pass_end(struct leat_pass *pass, bool epoch_is_over, const struct leat_bad_records *bad,
                  struct leat_error *err);
/* Queues an end if all wanted batches are queued. 0 or -ENOMEM. */
int leat_pass_stop_at_limit(struct leat_pass *pass);

/* Sets the wanted numbers of epochs and steps. */
void leat_pass_extend(struct leat_pass *pass, uint64_t n_epochs, uint64_t n_steps);
/* The end that is queued behind all batches; NULL: it left the queue. */
struct leat_batch_refs *leat_pass_queued_end(const struct leat_pass *pass);
/* Goes on from the limit, whose end left the queue. Ends the epoch if that is pending. */
int leat_pass_go_on(struct leat_pass *pass, const struct leat_bad_records *bad,
                    struct leat_error *err);
/* Makes the queued end of the run the end of an epoch; false: it left the queue. */
bool leat_pass_reopen_end(struct leat_pass *pass);
/* Goes on with the epoch behind the last one, whose end was reopened. */
int leat_pass_start_next_epoch(struct leat_pass *pass, struct leat_error *err);
