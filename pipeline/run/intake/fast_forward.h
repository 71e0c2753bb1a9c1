/* fast_forward.h: count-only blocks. With them a run that starts in the middle of an epoch reaches
 * its first step without making the blocks in front of it, and a run of some of several ranks makes
 * only its own rows (own_rows.h).
 *
 * Such a run needs the order of all rows in front of its first step, but not their values. So these
 * blocks are *count-only*: they have a number of rows, and no values. Their rows go through the
 * order like others. Batches in front of the first step are dropped, and most of these blocks with
 * them. If a stage held back a row, its block is *materialized*, from the same piece of the source
 * or from the cache, when one of the next batches has that row.
 *
 * leat_plan_fast_forward() says how the number of rows is known. If a block turns out to have
 * another number, the run fails. The sequence is that of a run from the start of the epoch, except
 * that bad records of count-only blocks are seen only where rows are made. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/batch_refs.h"
#include "pipeline/run/intake/lane_memory.h"

struct leat_count_only {
    struct leat_fast_forward *owner;
    struct leat_lane_memory *memory; /* of the lane */
    uint32_t lane;
    struct leat_block *block;
    struct leat_piece piece;      /* has its buffer if it would be costly to read again */
    struct leat_cache_file *file; /* that has the frame; NULL: the block is made from the piece */
    struct leat_cache_frame frame;
    uint64_t epoch;
    bool is_known; /* It has the columns that the order sees: from an index, or from the file. */
    bool is_out;   /* It is being materialized. */
    /* of the window that is being made: its wanted records (those of a cache: rows), and the block
     * that has them, from row made_at on */
    uint32_t *wanted;
    size_t n_wanted, wanted_capacity;
    struct leat_block *made;
    uint32_t made_at;
    struct leat_count_only *next_of_job; /* whose rows the same job makes */
    struct leat_error *error;            /* why it could not be materialized; NULL: no failure */
};

struct leat_fast_forward {
    const struct leat_plan *plan;
    bool is_own;           /* Other runs make the batches of other ranks. */
    bool may_count;        /* Pieces can be counted, as each record is a row. */
    bool may_skip;         /* Frames can be counted, as each says how many rows it has. */
    size_t n_blocks;       /* count-only blocks */
    size_t n_parted;       /* those of them of which only wanted rows are made */
    uint64_t n_kept_bytes; /* of their buffers */
    char *replay;          /* why all batches are made again; NULL: they are not, or it was taken */
    struct leat_error no_memory; /* of blocks without memory for an error of their own */
};

/* is_late: the run starts in the middle of an epoch, and makes batches. is_own: other runs make the
 * batches of other ranks. evicts: the run may evict blocks, which needs lengths that a count-only
 * block does not have. */
void leat_fast_forward_init(struct leat_fast_forward *forward, const struct leat_plan *plan,
                            bool is_late, bool is_own, bool evicts);
void leat_fast_forward_deinit(struct leat_fast_forward *forward);

/* Memory of what is known of count-only blocks. */
uint64_t leat_fast_forward_bytes(const struct leat_fast_forward *forward);

/* Notes why all batches in front of the first step are made again. */
void leat_fast_forward_explain(struct leat_fast_forward *forward, uint64_t first_step,
                               bool has_index);
char *leat_fast_forward_take_replay(struct leat_fast_forward *forward);

/* True if the piece, or the frame, may become a count-only block. The head of a frame counts bad
 * records and dropped ones together. So the frame must have neither where bad records are counted,
 * or records of rows are needed (with_records). Where a bad record fails the stream, it is found
 * when rows of its block are made. So a block without rows is loaded, except in front of the first
 * step (is_late). */
bool leat_fast_forward_may_count(const struct leat_fast_forward *forward,
                                 const struct leat_lane_memory *memory,
                                 const struct leat_piece *piece);
bool leat_fast_forward_may_skip(const struct leat_fast_forward *forward,
                                const struct leat_cache_frame *frame, bool with_records,
                                bool is_part, bool is_late);

/* Gives the entry a count-only block of n_rows. without_file: its file is an index, which has no
 * whole blocks. False: no memory. */
bool leat_fast_forward_add_block(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                                 uint32_t lane, struct leat_queue_entry *entry, uint32_t n_rows,
                                 bool without_file);
/* Makes the block of the entry, which was loaded without values, a count-only one. without_file: as
 * above. False: no memory. */
bool leat_fast_forward_add_known(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                                 uint32_t lane, struct leat_queue_entry *entry, bool without_file);
/* Ends that the block is count-only. */
void leat_count_only_forget(struct leat_block *block);
/* True if only wanted rows of the block are made, window by window. */
static inline bool leat_count_only_is_parted(const struct leat_count_only *count_only) {
    return count_only->owner->is_own;
}

/* True if the first batch of the queue has no row of a count-only block. */
bool leat_fast_forward_has_batch(const struct leat_fast_forward *forward,
                                 struct leat_batch_refs *first);
/* Why a block of that batch could not be materialized; NULL: no failure. */
const struct leat_error *leat_fast_forward_failure(const struct leat_fast_forward *forward,
                                                   struct leat_batch_refs *first);
/* The first block that one of the next n_batches needs materialized; NULL: none. */
struct leat_count_only *leat_fast_forward_next(const struct leat_fast_forward *forward,
                                               struct leat_batch_refs *first, size_t n_batches);
/* Blocks that a job makes together. Small ones, as a shuffle of blocks has them, would else cost a
 * job each. */
struct leat_count_only_list {
    struct leat_count_only *first, *last;
    size_t n;
    uint64_t n_bytes;
    bool is_full;
};

void leat_count_only_begin_list(struct leat_count_only *first, struct leat_count_only_list *ret);
/* Adds a block; false: it needs a job of its own. */
bool leat_count_only_join(struct leat_count_only_list *list, struct leat_count_only *next);
/* Fills a MAP job that materializes the block, and those of its list. -ENOMEM: the first block
 * keeps that error. */
int leat_count_only_start_job(struct leat_count_only *first, struct leat_map_job *ret_job);
/* Any thread. */
int leat_count_only_execute(struct leat_map_job *job, struct leat_error *err);
/* Takes the job back: the blocks, or their wanted rows, have their values. Those that could not be
 * made have an error. */
void leat_count_only_end_job(struct leat_map_job *job, const struct leat_error *error);

/* Adds a row of a parted block to those that the next job makes. 0 or -ENOMEM. */
int leat_count_only_want_row(struct leat_count_only *count_only, uint32_t row);
/* Changes a reference to a wanted row that was made. Else nothing happens. */
void leat_count_only_turn(struct leat_ref *ref);
/* Forgets the wanted rows. Made ones stay as long as something refers to them. */
void leat_count_only_end_window(struct leat_count_only *count_only);
