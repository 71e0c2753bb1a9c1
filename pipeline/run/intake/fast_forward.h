/* fast_forward.h: a run that starts in the middle of an epoch: blocks on the way to its first step
 * go through the order without values.
 *
 * Such a run needs the order of all rows before its first step, but not what they hold. So blocks
 * on the way are *count-only*: they have a number of rows, and nothing else. Their rows go through
 * the order as if they were here; batches before the first step are let go, and most blocks with
 * them. What is left, since a stage held it back, is *materialized* when a batch that is next in
 * the queue has a row of it, from the same piece of the source or from the cache.
 *
 * Where it stands how many rows a block has is said by plan/passing.h. A block that has other rows
 * once it is materialized ends the stream. The sequence is that of a run from the start of the
 * epoch, but that bad records that were passed over are not met. Owner: the run's thread.
 */
#pragma once

#include "pipeline/order/batch_refs.h"
#include "pipeline/run/intake/lane_memory.h"

struct leat_count_only {
    struct leat_fast_forward *owner;
    struct leat_lane_memory *memory; /* of the source that has the block, */
    uint32_t lane;                   /* which is this one */
    struct leat_block *block;
    struct leat_piece piece;      /* with its buffer, where it would be costly to read again */
    struct leat_cache_file *file; /* with the frame; NULL: it is made from the piece */
    struct leat_cache_frame frame;
    uint64_t epoch;
    bool is_known;           /* Its columns are those of an index. */
    bool is_out;             /* It is being materialized. */
    struct leat_error error; /* why it could not be; code 0: nothing is wrong */
};

struct leat_fast_forward {
    const struct leat_plan *plan;
    bool may_count;        /* a piece of the source: each record is a row */
    bool may_skip;         /* a frame of the cache: it says how many rows there are */
    size_t n_blocks;       /* count-only ones that are left, */
    uint64_t n_kept_bytes; /* and buffers that they have */
    char *replay;          /* why all is made again; NULL: it is not, or that was taken */
};

/* is_of_use: the run starts in the middle of an epoch, and makes batches. evicts: blocks that may
 * be evicted have lengths, which are known only once they were made. */
void leat_fast_forward_init(struct leat_fast_forward *forward, const struct leat_plan *plan,
                            bool is_of_use, bool evicts);
void leat_fast_forward_deinit(struct leat_fast_forward *forward);

/* All before the first step is made again, as it cannot be counted: says why. */
void leat_fast_forward_explain(struct leat_fast_forward *forward, uint64_t first_step,
                               bool has_index);
char *leat_fast_forward_take_replay(struct leat_fast_forward *forward);

/* True if that piece, or that frame, which lies before the first step, may be passed over. Of a
 * frame the head does not tell bad records from those that filters dropped: where bad ones are to
 * be met, or its records are asked for (with_records), only frames without either are passed over.
 */
bool leat_fast_forward_may_count(const struct leat_fast_forward *forward,
                                 const struct leat_lane_memory *memory,
                                 const struct leat_piece *piece);
bool leat_fast_forward_may_skip(const struct leat_fast_forward *forward,
                                const struct leat_cache_frame *frame, bool with_records,
                                bool is_part);

/* Makes the entry, whose piece or frame is known, a count-only block of so many rows. without_file:
 * what is in its file are no whole blocks. False: no memory. */
bool leat_fast_forward_pass_over(struct leat_fast_forward *forward, struct leat_lane_memory *memory,
                                 uint32_t lane, struct leat_queue_entry *entry, uint32_t n_rows,
                                 bool without_file);
/* Makes the entry's block, whose columns are those of an index, a count-only one. */
bool leat_fast_forward_pass_known(struct leat_fast_forward *forward,
                                  struct leat_lane_memory *memory, uint32_t lane,
                                  struct leat_queue_entry *entry);
/* The block goes, or is count-only no more. */
void leat_count_only_forget(struct leat_block *block);

/* ---- materializing ---- */

/* True if that batch, the first in the queue, has no row of a count-only block. */
bool leat_fast_forward_has_batch(const struct leat_fast_forward *forward,
                                 struct leat_batch_refs *first);
/* Why a block of that batch could not be materialized; NULL: nothing is wrong. */
const struct leat_error *leat_fast_forward_failure(const struct leat_fast_forward *forward,
                                                   struct leat_batch_refs *first);
/* The first block that is to be materialized for one of the next n_batches; NULL: none. */
struct leat_count_only *leat_fast_forward_next(const struct leat_fast_forward *forward,
                                               struct leat_batch_refs *first, size_t n_batches);
/* Fills a MAP job that materializes the block; -ENOMEM: the block fails by that. */
int leat_count_only_start_job(struct leat_count_only *count_only, struct leat_map_job *ret_job);
/* Any thread. */
int leat_count_only_execute(struct leat_map_job *job, struct leat_error *err);
/* The job is done: its block goes. */
void leat_count_only_end_job(struct leat_count_only *count_only, struct leat_map_job *job,
                             const struct leat_error *error);
