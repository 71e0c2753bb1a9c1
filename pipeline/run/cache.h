/* run/cache.h: what a run has to do with its cache.
 *
 * At the start of each pass a job looks for the cache (OPEN). Frames that it has are put in the
 * line of blocks in place of pieces, and the scanner goes on behind the last of them. If the run is
 * the builder, blocks that it makes are encoded by their MAP jobs, and written in the order of the
 * data by one job at a time (WRITE). Whatever goes wrong is noted; the stream goes on without.
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/work/job.h"

struct leat_queue_entry;
struct leat_run_stats;

enum leat_run_cache_state {
    LEAT_RUN_CACHE_CLOSED,  /* to be looked for */
    LEAT_RUN_CACHE_FRAMES,  /* of this pass, frames are put in line */
    LEAT_RUN_CACHE_SCANNED, /* the scanner does the rest of this pass */
};

/* Which part of the source is built (options.n_shards). */
struct leat_run_shard {
    uint64_t from, to;  /* of the bytes of all files, one behind the other */
    size_t file;        /* being read, */
    uint64_t base;      /* which begins there */
    uint64_t n_skipped; /* records before the shard, of files that are read from their start */
};

enum leat_run_cache_sifted {
    LEAT_RUN_CACHE_TAKE, /* it is to be mapped */
    LEAT_RUN_CACHE_SKIP, /* it is of no interest, */
    LEAT_RUN_CACHE_END,  /* nor is what follows */
};

struct leat_run_cache {
    enum leat_run_cache_state state;
    bool is_index;                       /* see run/index.h */
    struct leat_bare_schema bare_schema; /* of its blocks */
    struct leat_cache_data data;
    struct leat_cache_file *file; /* NULL: none */
    bool is_builder;
    bool has_failed_to_write; /* not tried again in this run */
    size_t next_frame;        /* of the pass that is being put in line */
    bool has_passed;          /* some were passed over since the last job */
    uint64_t generation;      /* of the file: blocks that were made for another are not for it */

    uint64_t next_record; /* that comes behind all that was moved on to be written */
    bool is_whole;        /* with what is to be written, all of the source */
    struct leat_cache_item *first, **last; /* to be written */
    size_t n_bytes;
    bool job_is_out;
    struct leat_cache_item *free_items;
    struct leat_run_shard shard;

    struct leat_error note; /* the latest thing that went wrong; code 0: none */
    uint64_t n_notes, n_written_bytes;
};

void leat_run_cache_init(struct leat_run *run);
void leat_run_cache_deinit(struct leat_run *run);

/* What the file has of a block: NULL: all. */
const struct leat_bare_schema *leat_run_cache_schema(const struct leat_run *run);

/* OPEN, WRITE, FINISH or PASS, if one is due. */
int leat_run_cache_job(struct leat_run *run, struct leat_job **ret_job);
void leat_run_cache_complete(struct leat_run *run, struct leat_job *job);

/* Memory of blocks on their way to the cache. */
uint64_t leat_run_cache_n_bytes(const struct leat_run *run);
void leat_run_cache_get_stats(const struct leat_run *run, struct leat_run_stats *stats);

/* Another pass begins. */
void leat_run_cache_next_pass(struct leat_run *run);
/* Puts frames in line while there is room; true: the scanner is to read. */
bool leat_run_cache_lets_scan(struct leat_run *run, size_t max_entries);
/* Puts a frame in line, or a part of one, which the caller sets; NULL: no memory, and the run has
 * failed. */
struct leat_queue_entry *
leat_run_cache_add_frame(struct leat_run *run, const struct leat_cache_frame *frame, bool is_part);
/* What becomes of a piece. */
enum leat_run_cache_sifted leat_run_cache_sift(struct leat_run *run, struct leat_piece *piece);

/* Before and after a MAP job. */
void leat_run_cache_start_map(struct leat_run *run, const struct leat_queue_entry *entry,
                              struct leat_map_job *job);
void leat_run_cache_end_map(struct leat_run *run, struct leat_queue_entry *entry,
                            struct leat_job *job);
/* Moves blocks that are next on to be written; sees whether all of the source is in. */
void leat_run_cache_collect(struct leat_run *run);
/* An entry leaves the line. */
void leat_run_cache_forget(struct leat_run *run, struct leat_queue_entry *entry);
