/* cache.h: how a run reads and writes the cache of its source, or an index of its blocks.
 *
 * At the start of each pass a job looks for the cache (OPEN). Its frames are queued instead of
 * pieces, and the scanner goes on behind the last of them. If the run is the builder, the MAP jobs
 * encode their blocks, and one job at a time writes them in the order of the data (WRITE). A fault
 * of the cache is noted, and the stream goes on without it.
 *
 * A stream without a cache may have an index: a file in the form of a cache, with what the order
 * needs of each block (cache/index.h). The first run that reads all of the source builds it. It is
 * used only where blocks need not be made:
 *   - before the first step of a run that starts in mid-epoch (fast_forward.h);
 *   - in a full shuffle, which holds all of a pass, and evicts blocks from the start (row_store.h).
 * The key of an index is that of a cache, so it never serves other data or other stages. A damaged
 * block of it is made from the source. A stream has no index if its records differ from epoch to
 * epoch, or if it is mixed, or comes through a FIFO. That of a stream which is read in blocks in
 * random order is made by `leatctl cache warm` alone, and says where the blocks are.
 *
 * Owner: the run's thread.
 */
#pragma once

#include "pipeline/run/intake/block_queue.h"
#include "pipeline/run/intake/cache_items.h"
#include "pipeline/run/options.h"
#include "pipeline/work/job.h"

enum leat_run_cache_state {
    LEAT_RUN_CACHE_CLOSED,  /* A job has to look for it. */
    LEAT_RUN_CACHE_FRAMES,  /* Frames of this pass are queued. */
    LEAT_RUN_CACHE_SCANNED, /* The scanner reads the rest of this pass. */
};

struct leat_run_cache {
    struct leat_plan *plan;
    const struct leat_opener *opener;
    const char *folder; /* NULL: neither cache nor index */
    bool only_builds, only_places;
    bool is_index;
    struct leat_index_schema index_schema; /* of the index */

    enum leat_run_cache_state state;
    struct leat_data *data;
    struct leat_cache_file *file; /* NULL: none */
    bool is_builder;
    bool only_reads;          /* The run builds nothing, as it does not make all blocks. */
    bool has_failed_to_write; /* The run does not try again. */
    size_t next_frame;        /* of the pass that is being queued */
    bool has_skipped;         /* Some frames became count-only blocks since the last job. */
    uint64_t generation;      /* of the file: it takes no blocks that were made for another */
    struct leat_cache_shard shard;

    uint64_t next_record; /* behind the records of all items that were added */
    bool is_whole;        /* File and items together have all of the source. */
    struct leat_cache_items items;
    bool job_is_out;

    struct leat_error note; /* the latest fault; code 0: none */
    uint64_t n_notes, n_written_bytes;
};

/* The facts about the lane that the cache needs. */
struct leat_run_cache_view {
    struct leat_block_queue *queue;
    uint64_t epoch, pass; /* being consumed */
    bool reads_index;     /* An index may be used now. */
};

/* The next step of the intake in a pass. */
enum leat_run_cache_step {
    LEAT_CACHE_STEP_WAIT,
    LEAT_CACHE_STEP_FRAME, /* queue the next frame */
    LEAT_CACHE_STEP_START, /* start the scanner where leat_run_cache_start_reading() says */
    LEAT_CACHE_STEP_READ,  /* let the scanner read */
    LEAT_CACHE_STEP_END,   /* end the pass: the cache has all of the source, and it is queued */
};

enum leat_run_cache_event {
    LEAT_CACHE_EVENT_NONE,
    LEAT_CACHE_EVENT_FOUND,   /* The run has another cache, or has lost its cache. */
    LEAT_CACHE_EVENT_CHANGED, /* The data has changed, and the run fails with the job's error. */
};

void leat_run_cache_init(struct leat_run_cache *cache, struct leat_plan *plan,
                         const struct leat_run_options *options);
void leat_run_cache_deinit(struct leat_run_cache *cache);

/* The failure of a run that only builds a cache; NULL: none. */
const struct leat_error *leat_run_cache_failure(const struct leat_run_cache *cache);
/* The schema of an index; NULL: a cache, which has whole blocks. */
const struct leat_index_schema *leat_run_cache_schema(const struct leat_run_cache *cache);
/* Memory of blocks on their way to the cache. */
uint64_t leat_run_cache_n_bytes(const struct leat_run_cache *cache,
                                const struct leat_block_queue *queue);
/* Bytes of the source that are in the cache, and that the run reads for it. 0 unless the run only
 * builds a cache. */
void leat_run_cache_get_progress(const struct leat_run_cache *cache, uint64_t *ret_n_done,
                                 uint64_t *ret_n_total);

/* The next job; false: none is due. may_open: the run may look for the cache. */
bool leat_run_cache_next_task(const struct leat_run_cache *cache, bool may_open, bool is_cancelled,
                              enum leat_cache_task *ret_task);
void leat_run_cache_start_job(struct leat_run_cache *cache, enum leat_cache_task task,
                              bool reads_index, struct leat_data_watch *watch,
                              struct leat_cache_job *ret_job);
/* Takes a job back. */
enum leat_run_cache_event leat_run_cache_end_job(struct leat_run_cache *cache,
                                                 struct leat_cache_job *job,
                                                 struct leat_error *error);

void leat_run_cache_next_pass(struct leat_run_cache *cache, bool reads_index);
/* True if leat_run_cache_next_step() queues frames of this pass. */
bool leat_run_cache_has_frames(const struct leat_run_cache *cache);
enum leat_run_cache_step leat_run_cache_next_step(struct leat_run_cache *cache,
                                                  const struct leat_run_cache_view *view);
/* True if blocks of the pass before may still be on their way to the cache. */
bool leat_run_cache_has_more_to_come(const struct leat_run_cache *cache,
                                     const struct leat_run_cache_view *view);
/* The last frame that was queued, behind which the scanner starts; NULL: none. is_shard: the run
 * builds a part of the cache, and starts in file *ret_file. */
const struct leat_cache_frame *leat_run_cache_start_reading(struct leat_run_cache *cache,
                                                            bool *ret_is_shard, size_t *ret_file);

/* Sets where a MAP job loads its block from, or the item that it fills for the cache. with_frame:
 * the item is filled in any case, as the run needs its frame. */
void leat_run_cache_start_map(struct leat_run_cache *cache, const struct leat_run_cache_view *view,
                              const struct leat_queue_entry *entry, bool with_frame,
                              struct leat_map_job *job);
/* Takes the item of a MAP job; entry NULL: the job has none. */
void leat_run_cache_end_map(struct leat_run_cache *cache, struct leat_queue_entry *entry,
                            struct leat_job *job);
/* True if the block has no values, as it comes from an index, or as the job was to load none. */
bool leat_run_cache_is_without_values(const struct leat_run_cache *cache,
                                      const struct leat_queue_entry *entry,
                                      const struct leat_job *job);
/* Takes the items of the queue that are next in the data; notes if all of the source is there. */
void leat_run_cache_collect(struct leat_run_cache *cache, const struct leat_run_cache_view *view);
/* Releases item and file of an entry that leaves the queue. */
void leat_run_cache_forget(struct leat_run_cache *cache, struct leat_queue_entry *entry);
