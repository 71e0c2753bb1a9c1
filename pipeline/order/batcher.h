/* batcher.h: rows come together in batches. One thread: the run's.
 *
 * The end of the chain of ORDER stages. A batch is closed as soon as no further row could be in it:
 * it has all its rows, or one more would exceed max_tokens however short it is; or when the row
 * that comes does not fit. Batches are numbered when they are closed, over all ranks. When all
 * ranks have one more (a round), those of the run's ranks that are not before the start go to the
 * line, as many as are wanted; those beyond wait until more are; the others are let go.
 *
 * With `bucket: {boundaries}` each bucket has an open batch of its own. With `bucket: {window}`
 * rows are gathered, sorted by length and cut into batches from the shortest on, which are closed
 * in random order; what is left, less than a batch of the longest, is gathered again.
 */
#pragma once

#include "pipeline/order/batch_refs.h"
#include "pipeline/plan/plan.h"

/* A batch that is being filled. */
struct leat_open_batch {
    struct leat_batch_refs *refs; /* NULL: none yet */
    uint64_t capacity;
    uint64_t longest; /* of its rows: tokens, padded */
};

struct leat_gathered_row {
    struct leat_ref ref;
    uint32_t length;
    uint32_t place; /* in the order of arrival */
};

struct leat_batch_list {
    struct leat_batch_refs *first, **last;
    uint64_t n_bytes;
};

struct leat_batcher {
    struct leat_order_sink sink;
    const struct leat_plan *plan;
    uint64_t first_rank, n_ranks, world_size;
    uint64_t first_epoch, first_step;
    uint64_t n_left;  /* batches that are still wanted in the line; UINT64_MAX: all */
    uint64_t n_lined; /* that came to it */
    uint64_t round_phase;
    uint64_t epoch, step; /* the next; at the end of the epoch: how many it has */
    uint64_t n_closed;    /* batches of the epoch, before `uneven` */
    uint64_t n_rounds;    /* that were whole */
    uint64_t round_start, round_end;
    uint64_t n_round_skipped;       /* of its steps, so far */
    uint64_t next_epoch, next_step; /* behind the last in the line */
    struct leat_open_batch *open;   /* [n_open]: of each bucket */
    size_t n_open;
    struct leat_gathered_row *gathered; /* for the window; grows up to it and a batch */
    size_t n_gathered, n_carried, gathered_capacity;
    struct leat_rng rng;                   /* for the order of batches of a window */
    struct leat_batch_list round;          /* finished, in order, and their round is not whole */
    struct leat_batch_list beyond;         /* finished, in order, and not wanted (yet) */
    struct leat_batch_refs *first, **last; /* the line: finished, in order */
    size_t n_ready;
    uint64_t ready_bytes; /* of those */
};

/* Which batches are wanted, and how they are numbered; as in struct leat_run_options (run.h). */
struct leat_sequence {
    uint64_t seed;
    uint64_t first_epoch, first_step;
    uint64_t n_steps; /* 0: all */
    uint64_t first_rank, n_ranks, world_size;
    uint64_t round_phase;
};

int leat_batcher_init(struct leat_batcher *batcher, const struct leat_plan *plan,
                      const struct leat_sequence *wanted, struct leat_error *err);
void leat_batcher_deinit(struct leat_batcher *batcher);
void leat_batcher_start_epoch(struct leat_batcher *batcher, uint64_t seed, uint64_t epoch);
/* Closes what is open, or lets go of it if the plan drops last batches. */
int leat_batcher_flush(struct leat_batcher *batcher, struct leat_error *err);
/* The end of the epoch: steps that are no whole round go by `uneven`. */
int leat_batcher_end_round(struct leat_batcher *batcher, struct leat_error *err);
/* Puts the end of the epoch in the line of batches: behind all that are wanted. */
int leat_batcher_add_end(struct leat_batcher *batcher, bool is_last);
/* So many are wanted in all, from the start; 0: all. It has no end in its line that is_last. */
void leat_batcher_want(struct leat_batcher *batcher, uint64_t n_steps);

/* Whether the next batch comes before the first that is wanted. */
bool leat_batcher_is_before_first(const struct leat_batcher *batcher);

struct leat_batch_refs *leat_batcher_pop(struct leat_batcher *batcher);
/* Lets go of that batch in the line, and of all behind it. */
void leat_batcher_cut(struct leat_batcher *batcher, struct leat_batch_refs *first);

/* Rows that wait in open batches and windows, at most. */
uint64_t leat_batcher_holds(const struct leat_plan *plan);
/* Bytes of references: what it has by now, and what that and n_closed batches take at most. */
uint64_t leat_batcher_bytes(const struct leat_batcher *batcher);
uint64_t leat_batcher_max_bytes(const struct leat_plan *plan, uint64_t n_closed);
