/* cache.h: what a run has to do with the cache of its source, or with an index of its blocks.
 *
 * At the start of each pass a job looks for the cache (OPEN). Frames that it has are queued in
 * place of pieces, and the scanner goes on behind the last of them. If the run is the builder,
 * blocks that it makes are encoded by their MAP jobs, and written in the order of the data by one
 * job at a time (WRITE). Whatever goes wrong is noted; the stream goes on without.
 *
 * A stream without a cache may have an index: what the order of rows needs of each block
 * (bare_schema.h), in a file of the form of a cache. It is built like one, by the first run that
 * reads all of the source, and is of use where blocks are not to be made:
 *   - before the first step of a run that starts in mid-epoch (fast_forward.h);
 *   - in a full shuffle, which holds all of a pass: blocks are evicted from the start
 * (row_store.h). Elsewhere the source is read as if there were no index. The key of an index is
 * that of a cache, so an index is never taken for other data or other stages; a damaged block of it
 * is made from the source. Streams whose records differ from epoch to epoch, that are mixed, read
 * in blocks in random order, or that come through a FIFO have no index.
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"
#include "pipeline/run/intake/cache_items.h"
#include "pipeline/run/intake/cache_shard.h"
#include "pipeline/run/options.h"

enum leat_run_cache_state {
    LEAT_RUN_CACHE_CLOSED,  /* to be looked for */
    LEAT_RUN_CACHE_FRAMES,  /* of this pass, frames are queued */
    LEAT_RUN_CACHE_SCANNED, /* The scanner does the rest of this pass. */
};

struct leat_run_cache {
    struct leat_plan *plan;
    const struct leat_opener *opener;
    const char *folder; /* NULL: neither cache nor index */
    bool only_builds, only_places;
    bool is_index;
    struct leat_bare_schema bare_schema; /* of the index */

    enum leat_run_cache_state state;
    struct leat_cache_data data;
    struct leat_cache_file *file; /* NULL: none */
    bool is_builder;
    bool has_failed_to_write; /* It is not tried again in this run. */
    size_t next_frame;        /* of the pass that is being queued */
    bool has_passed;          /* Some frames were passed over since the last job. */
    uint64_t generation;      /* of the file: blocks that were made for another are not for it */
    struct leat_cache_shard shard;

    uint64_t next_record; /* behind all that was moved on to be written */
    bool is_whole;        /* With what is to be written, all of the source is there. */
    struct leat_cache_items items;
    bool job_is_out;

    struct leat_error note; /* the latest thing that went wrong; code 0: none */
    uint64_t n_notes, n_written_bytes;
};

/* The queue of blocks, and the pass that is being consumed. */
struct leat_run_cache_view {
    struct leat_block_queue *queue;
    uint64_t epoch, pass;
    bool reads_index; /* An index is of use now. */
};

/* What comes next of a pass. */
enum leat_run_cache_step {
    LEAT_CACHE_STEP_WAIT,  /* nothing, for now */
    LEAT_CACHE_STEP_FRAME, /* the next frame is to be queued */
    LEAT_CACHE_STEP_START, /* the scanner starts where leat_run_cache_start_reading() says, */
    LEAT_CACHE_STEP_READ,  /* and reads on */
    LEAT_CACHE_STEP_END,   /* nothing: the cache has all of the source, which was queued */
};

enum leat_run_cache_event {
    LEAT_CACHE_EVENT_NONE,
    LEAT_CACHE_EVENT_FOUND,   /* The run has another cache, or none any more. */
    LEAT_CACHE_EVENT_CHANGED, /* The data has changed, and the stream fails by the job's error. */
};

void leat_run_cache_init(struct leat_run_cache *cache, struct leat_plan *plan,
                         const struct leat_run_options *options);
void leat_run_cache_deinit(struct leat_run_cache *cache);

/* The failure of a run that came for the cache alone; NULL: none. */
const struct leat_error *leat_run_cache_failure(const struct leat_run_cache *cache);
/* What the file has of a block: NULL: all. */
const struct leat_bare_schema *leat_run_cache_schema(const struct leat_run_cache *cache);
/* Memory of blocks on their way to the cache. */
uint64_t leat_run_cache_n_bytes(const struct leat_run_cache *cache,
                                const struct leat_block_queue *queue);
/* Bytes of the source of which blocks are in the cache, of all that a run reads for it alone. */
void leat_run_cache_get_progress(const struct leat_run_cache *cache, uint64_t *ret_n_done,
                                 uint64_t *ret_n_total);

/* ---- jobs ---- */

/* The next job, if one is due: OPEN (may_open: if the run wants to read), WRITE, FINISH or PASS. */
bool leat_run_cache_next_task(const struct leat_run_cache *cache, bool may_open, bool is_cancelled,
                              enum leat_cache_task *ret_task);
void leat_run_cache_start_job(struct leat_run_cache *cache, enum leat_cache_task task,
                              bool reads_index, struct leat_data_watch *watch,
                              struct leat_cache_job *ret_job);
/* Takes a job back, of which error is the error. */
enum leat_run_cache_event leat_run_cache_end_job(struct leat_run_cache *cache,
                                                 struct leat_cache_job *job,
                                                 struct leat_error *error);

/* ---- passes ---- */

void leat_run_cache_next_pass(struct leat_run_cache *cache, bool reads_index);
/* True if frames of this pass are queued by leat_run_cache_next_step(). */
bool leat_run_cache_has_frames(const struct leat_run_cache *cache);
enum leat_run_cache_step leat_run_cache_next_step(struct leat_run_cache *cache,
                                                  const struct leat_run_cache_view *view);
/* FRAME: the frame was queued. */
void leat_run_cache_pass_frame(struct leat_run_cache *cache);
/* Some frame was passed over, which takes no time: others have a turn before the next. */
void leat_run_cache_count_passed(struct leat_run_cache *cache);
/* True if blocks of the pass before may still be on their way into the cache. */
bool leat_run_cache_has_more_to_come(const struct leat_run_cache *cache,
                                     const struct leat_run_cache_view *view);
/* The scanner does the rest of this pass, and builds from where the file ends on. */
void leat_run_cache_set_scanned(struct leat_run_cache *cache);
void leat_run_cache_set_building(struct leat_run_cache *cache);
/* The scanner starts in that file (is_shard: it is of a part of the source) behind the last frame
 * that was queued; NULL: at the start. */
const struct leat_cache_frame *leat_run_cache_start_reading(struct leat_run_cache *cache,
                                                            bool *ret_is_shard, size_t *ret_file);
/* Tells what becomes of a piece. */
enum leat_cache_sifted leat_run_cache_sift(struct leat_run_cache *cache, struct leat_piece *piece);

/* ---- blocks ---- */

/* Before a MAP job: where its block is, or where it is put for the cache. with_frame: the run wants
 * to know what the block would be in a cache in any case. */
void leat_run_cache_start_map(struct leat_run_cache *cache, const struct leat_run_cache_view *view,
                              const struct leat_queue_entry *entry, bool with_frame,
                              struct leat_map_job *job);
/* After a MAP job, for the entry; NULL: none. */
void leat_run_cache_end_map(struct leat_run_cache *cache, struct leat_queue_entry *entry,
                            struct leat_job *job);
/* True if what the job brought is of an index, and has no values. */
bool leat_run_cache_is_without_values(const struct leat_run_cache *cache,
                                      const struct leat_queue_entry *entry,
                                      const struct leat_job *job);
/* Moves blocks that are next on to be written; sees whether all of the source is there. */
void leat_run_cache_collect(struct leat_run_cache *cache, const struct leat_run_cache_view *view);
/* An entry leaves the queue. */
void leat_run_cache_forget(struct leat_run_cache *cache, struct leat_queue_entry *entry);
