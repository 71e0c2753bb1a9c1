/* run/bare.h: blocks that are passed over on the way to the first step: bare ones, without values.
 *
 * A run that starts in the middle of an epoch needs the order of all rows before, but not what they
 * hold. So blocks on the way are *bare*: they have a number of rows, and nothing else. Their rows
 * go through the order as if they were here; batches before the first step are let go, and most
 * blocks with them. What is left, since a stage held it back, is made (*filled*) when a batch that
 * is next in line has a row of it, from the same piece of the source or from the cache.
 *
 * Where it stands how many rows a block has is said by passing.h. A block that has other rows once
 * it is filled ends the stream. The sequence is that of a run from the start of the epoch, but that
 * bad records that were passed over are not met. One thread: the run's.
 */
#pragma once

#include "pipeline/work/job.h"

struct leat_queue_entry;

struct leat_bare {
    struct leat_run *run; /* that has the block: the run, or a lane of it */
    struct leat_block *block;
    struct leat_piece piece;      /* with its buffer, where it would be costly to read again */
    struct leat_cache_file *file; /* with the frame; NULL: it is made from the piece */
    struct leat_cache_frame frame;
    uint64_t epoch;
    bool is_known;           /* its columns are those of an index */
    bool is_out;             /* it is being filled */
    struct leat_error error; /* why it could not be; code 0: nothing is wrong */
};

struct leat_bares {
    bool may_count;        /* a piece of the source: each record is a row */
    bool may_skip;         /* a frame of the cache: it says how many rows there are */
    size_t n_blocks;       /* of the whole: bare ones that are left, */
    uint64_t n_kept_bytes; /* and buffers that they have */
    char *replay;          /* why all is made again; NULL: it is not, or that was told */
};

void leat_bares_init(struct leat_run *run);
/* Says so, if all before the first step is to be made again. */
void leat_bares_note(struct leat_run *run);
/* Whether what is read now lies before the first step. */
bool leat_run_is_passing(const struct leat_run *run);
/* Whether that piece is to be passed over. */
bool leat_run_may_count(const struct leat_run *run, const struct leat_piece *piece);
/* Makes the entry, whose piece or frame is known, a bare block of so many rows; false: no memory.
 */
bool leat_run_make_bare(struct leat_run *run, struct leat_queue_entry *entry, uint32_t n_rows);
/* Makes the entry's block, whose columns are those of an index, a bare one. */
bool leat_run_know_bare(struct leat_run *run, struct leat_queue_entry *entry);
/* The block goes, or is bare no more. */
void leat_bare_forget(struct leat_block *block);

/* Whether the first batch in line has no row of a bare block. */
bool leat_bares_have_first(const struct leat_run *run);
/* The job that fills one: 0 or LEAT_RUN_JOB. */
int leat_run_bare_job(struct leat_run *run, struct leat_job **ret_job);
/* Any thread. */
int leat_bare_execute(struct leat_map_job *job, struct leat_error *err);
void leat_run_complete_bare(struct leat_run *run, struct leat_job *job);
