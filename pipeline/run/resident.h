/* run/resident.h: blocks that wait in a full shuffle, where there is a cache: with their values, or
 * without.
 *
 * A block that a stage only holds, and that is in the cache or can be made again, may be *evicted*:
 * it keeps what order stages look at (lengths, scalars, marks), and lets go of the values and
 * starts of its lists. That begins when such blocks take more than `max_bytes`, or memory is short;
 * from then on each is evicted as it leaves the line of blocks, until none is left.
 *
 * A full shuffle puts all batches of its pass in line at once, so what will be needed is known. The
 * next batches, as many as their rows fit into the bound (a *window*), are planned together: each
 * block that they need is read once for all of them, in the order of the data, and only the rows
 * that they want are kept, as rows of new, gathered blocks to which their references are turned.
 * So an epoch reads the cache about as often as the set is larger than the bound, however many
 * rows a block has. Gathered blocks are made for an eighth of a window each, and go as its batches
 * do: while one window drains, the next fills.
 *
 * Values are those that were there before: a frame has a checksum, and what is made again from the
 * source is compared with it. One thread: the run's.
 */
#pragma once

#include "pipeline/work/job.h"

struct leat_queue_entry;

/* A block that may be evicted, or is. */
struct leat_resident {
    struct leat_resident *next, *previous; /* of those that are here, or of those that are not */
    struct leat_run *run;
    struct leat_block *block;
    struct leat_cache_file *file;  /* with the frame; NULL: not known to be in one */
    struct leat_cache_frame frame; /* what its bytes are */
    uint64_t n_bytes;              /* counted while it is here */
    size_t first_want;             /* of the window, into wants; SIZE_MAX: none */
};

struct leat_resident_list {
    struct leat_resident *first, *last;
};

/* A reference of a batch in line to a row that is not here. Its batch is in the line as long as the
 * window is not abandoned. */
struct leat_want {
    struct leat_ref *ref;
    struct leat_batch_refs *batch;
    uint32_t target; /* which eighth */
    size_t next;     /* of the same block */
};

struct leat_residents {
    uint64_t max_bytes; /* 0: nothing is ever evicted */
    bool pins; /* blocks of batches that are made are pinned: they may be evicted, or thinned */
    struct leat_resident_list here, evicted; /* evicted: in the order of the data */
    uint64_t here_bytes;
    size_t n_all;
    bool is_evicting; /* each at once */

    size_t n_planned;        /* batches at the front of the line */
    struct leat_want *wants; /* of the window */
    size_t n_wants, capacity, n_unissued;
    struct leat_resident *cursor; /* the next of the evicted that may be wanted */
    uint32_t n_out;               /* jobs that gather */
    bool is_abandoned;            /* the run has failed, and what is not here never will be */
};

void leat_residents_init(struct leat_run *run);
void leat_residents_deinit(struct leat_run *run);
/* Bytes of what it knows of blocks and wants. */
uint64_t leat_residents_bytes(const struct leat_run *run);

/* Of an entry that leaves the line: its block, if a stage holds it. */
void leat_residents_add(struct leat_run *run, const struct leat_queue_entry *entry);
/* Memory is short: all that can be is evicted; false: there was nothing. */
bool leat_residents_evict(struct leat_run *run);

/* Whether the first batch in line has all of its rows. */
bool leat_residents_have_first(const struct leat_run *run);
/* leat_batcher_pop; the blocks of a batch stay until it is released. */
struct leat_batch_refs *leat_residents_pop(struct leat_run *run);
void leat_residents_release(struct leat_run *run, struct leat_batch_refs *batch);
void leat_residents_pin(const struct leat_ref *ref, bool is_pinned);
/* The run has failed: that batch and all behind it are let go. */
void leat_residents_abandon(struct leat_run *run, struct leat_batch_refs *first);

/* The references of a row: itself, or those of its bundle. */
static inline struct leat_ref *leat_residents_refs(struct leat_ref *row, uint32_t *ret_n) {
    *ret_n = row->row == LEAT_REF_BUNDLE ? row->bundle->n_refs : 1;
    return row->row == LEAT_REF_BUNDLE ? row->bundle->refs : row;
}

/* The job that fetches rows (run/gather.c): 0 or LEAT_RUN_JOB. */
int leat_run_gather_job(struct leat_run *run, struct leat_job **ret_job);
void leat_run_complete_gather(struct leat_run *run, struct leat_job *job);
