/* pass.h: which pass of which epoch is consumed, and where the run ends.
 *
 * A run that has as many batches as are wanted stops where it is: nothing is read, mapped or pushed
 * through the order any more, and an end is queued as if it were that of the epoch. What the order
 * holds stays until that end is taken, so that going on is taking the end out of the queue again.
 * Where the last batch came with the end of its pass, the end of the epoch is pending. Owner: the
 * run's thread.
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
    uint64_t n_rows;                /* pushed into the order: of all passes, */
    uint64_t n_pass_rows;           /* of this one, */
    uint64_t n_epoch_rows;          /* of the passes of the epoch before it; */
    uint64_t n_epoch_records;       /* and records of the epoch */
    bool is_complete;               /* The last epoch went through the order, or: */
    bool is_at_limit;               /* there are as many batches as are wanted, */
    bool has_pending_end;           /* and its end of the epoch is still to be made. */
    struct leat_error late_error;   /* of the order, behind the limit; code 0: none */
};

int leat_pass_init(struct leat_pass *pass, const struct leat_plan *plan,
                   const struct leat_run_options *options, bool may_evict, struct leat_error *err);
void leat_pass_deinit(struct leat_pass *pass);

/* 0; -ESPIPE: the source comes once, and cannot be read from there, or as often as that. How many
 * epochs are wanted may be left open. */
int leat_pass_check(const struct leat_plan *plan, const struct leat_run_options *options,
                    struct leat_error *err);
bool leat_pass_wants_epoch(const struct leat_pass *pass, uint64_t epoch);

/* What follows a row, or the end of a pass. Beside these -errno: the run fails. */
enum {
    LEAT_PASS_GOES_ON = 0,
    LEAT_PASS_IS_OVER,       /* The order wants no more rows of this pass. */
    LEAT_PASS_EPOCH_IS_OVER, /* A stage behind `repeat` wants no further pass of the epoch. */
    LEAT_PASS_STALLS,        /* The order failed behind the last batch that is wanted. */
};

/* Pushes a row into the order. */
int leat_pass_push(struct leat_pass *pass, struct leat_ref take_ref, struct leat_error *err);
/* No more rows are taken of a block: so many of its records were read. */
void leat_pass_count_records(struct leat_pass *pass, uint64_t n_records);
/* Ends the pass: all of it was pushed, or the order wants no more; epoch_is_over: nor a further
 * pass. The next pass or epoch is then being consumed, unless the end of the epoch is pending. */
int leat_pass_end(struct leat_pass *pass, bool epoch_is_over, const struct leat_bad_records *bad,
                  struct leat_error *err);
/* Who wants only the cache has all of it. */
void leat_pass_complete(struct leat_pass *pass);
/* If as many batches as are wanted are queued, queues their end. 0 or -ENOMEM. */
int leat_pass_stop_at_limit(struct leat_pass *pass);

/* ---- a run that ends later than it was told ---- */

/* So many epochs and steps are wanted in all. */
void leat_pass_extend(struct leat_pass *pass, uint64_t n_epochs, uint64_t n_steps);
/* The end that is queued behind all batches; NULL: it went out already. */
struct leat_batch_refs *leat_pass_queued_end(const struct leat_pass *pass);
/* Goes on from the limit, once its end was taken out of the queue: ends the epoch, if that was
 * pending. */
int leat_pass_go_on(struct leat_pass *pass, const struct leat_bad_records *bad,
                    struct leat_error *err);
/* The queued end becomes one among others; false: it went out already. */
bool leat_pass_reopen_end(struct leat_pass *pass);
/* Goes on behind the last epoch, whose end was reopened. */
int leat_pass_start_next_epoch(struct leat_pass *pass, struct leat_error *err);
