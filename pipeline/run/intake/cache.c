#include "pipeline/run/intake/cache.h"

#include <errno.h>

#include "pipeline/cache/index.h"

#define WAITING_BYTES     (4U << 20) /* of items: beyond it a slow disk stops the scanner */
#define INDEX_WRITE_BYTES 16384      /* of an index that are written at once */

/* ---- life ---- */

/* A run that makes all rows finds the blocks as fast without an index, unless they have lanes. */
static bool reads_index_of_blocks(const struct leat_plan *plan,
                                  const struct leat_run_options *options) {
    return plan->blocks.block_size == 0 || plan->blocks.n_lanes > 0 || options->only_builds ||
           leat_run_options_are_of_some(options);
}

/* If there is no memory for its schema, the run has no index. */
static void init_index(struct leat_run_cache *cache, const struct leat_run_options *options) {
    const char *folder = leat_index_folder(cache->plan, options->index_folder);

    if (options->cache_folder || !folder || !reads_index_of_blocks(cache->plan, options))
        return;
    cache->is_index = leat_index_schema_init(&cache->index_schema, cache->plan,
                                             leat_index_has_columns(cache->plan)) == 0;
    if (cache->is_index)
        cache->folder = folder;
    cache->only_reads = cache->is_index && !cache->index_schema.has_columns &&
                        leat_run_options_are_of_some(options) &&
                        leat_plan_fast_forward(cache->plan).are_counted;
}

void leat_run_cache_init(struct leat_run_cache *cache, struct leat_plan *plan,
                         const struct leat_run_options *options) {
    *cache = (struct leat_run_cache){
        .plan = plan,
        .opener = options->opener,
        .folder = options->cache_folder ? options->cache_folder : plan->cache_path,
        .only_builds = options->only_builds,
        .only_places = options->only_places,
        .shard = {.index = options->shard, .n_shards = options->n_shards},
    };
    leat_cache_items_init(&cache->items);
    init_index(cache, options);
    cache->only_reads |=
        !options->only_builds &&
        (plan->blocks.n_lanes > 0 || (plan->blocks.block_size > 0 && cache->is_index));
    cache->state = cache->folder ? LEAT_RUN_CACHE_CLOSED : LEAT_RUN_CACHE_SCANNED;
}

void leat_run_cache_deinit(struct leat_run_cache *cache) {
    leat_cache_items_deinit(&cache->items);
    leat_cache_file_unref(cache->file);
    leat_data_unref(cache->data);
    leat_index_schema_deinit(&cache->index_schema);
}

const struct leat_index_schema *leat_run_cache_schema(const struct leat_run_cache *cache) {
    return cache->is_index ? &cache->index_schema : NULL;
}

static void note(struct leat_run_cache *cache, const struct leat_error *err) {
    cache->note = *err;
    leat_error_prefix(&cache->note, cache->is_index ? "index" : "cache");
    cache->n_notes++;
}

const struct leat_error *leat_run_cache_failure(const struct leat_run_cache *cache) {
    return cache->only_builds && cache->n_notes > 0 ? &cache->note : NULL;
}

static void stop_building(struct leat_run_cache *cache) {
    cache->is_builder = cache->is_whole = false;
    cache->has_failed_to_write = true;
    leat_cache_items_drop(&cache->items);
}

/* ---- jobs ---- */

/* Blocks of an index are small, so several are written at once. */
static bool write_is_due(const struct leat_run_cache *cache, bool is_cancelled) {
    return cache->is_builder && cache->items.first && (cache->is_whole || !is_cancelled) &&
           (!cache->is_index || cache->is_whole || cache->state != LEAT_RUN_CACHE_SCANNED ||
            cache->items.n_bytes >= INDEX_WRITE_BYTES);
}

bool leat_run_cache_next_task(const struct leat_run_cache *cache, bool may_open, bool is_cancelled,
                              enum leat_cache_task *ret_task) {
    if (cache->job_is_out)
        return false;
    if (write_is_due(cache, is_cancelled))
        *ret_task = LEAT_CACHE_WRITE;
    else if (cache->is_builder && cache->is_whole)
        *ret_task = LEAT_CACHE_FINISH;
    else if (cache->state == LEAT_RUN_CACHE_CLOSED && may_open)
        *ret_task = LEAT_CACHE_OPEN;
    else if (cache->has_skipped && !is_cancelled)
        *ret_task = LEAT_CACHE_YIELD;
    else
        return false;
    return true;
}

void leat_run_cache_start_job(struct leat_run_cache *cache, enum leat_cache_task task,
                              bool reads_index, struct leat_data_watch *watch,
                              struct leat_cache_job *ret_job) {
    if (task == LEAT_CACHE_FINISH)
        cache->file->is_complete = true; /* for this run, even if the disk fails */
    *ret_job = (struct leat_cache_job){
        .task = task,
        .plan = cache->plan,
        .opener = cache->opener,
        .folder = cache->folder,
        .shard = cache->shard.index,
        .n_shards = cache->shard.n_shards,
        .file = cache->file,
        .is_builder = cache->is_builder,
        .is_index = cache->is_index,
        .has_columns = cache->index_schema.has_columns,
        .begins_anew = cache->is_index && !reads_index,
        .data = cache->data,
        .watch = watch,
        .is_settled = cache->file &&
                      (cache->is_builder || cache->file->is_complete || cache->has_failed_to_write),
        .may_build = !cache->has_failed_to_write && !cache->only_places && !cache->only_reads,
    };
    if (task == LEAT_CACHE_WRITE)
        ret_job->items =
            leat_cache_items_start_write(&cache->items, cache->file->end, cache->file->n_records);
    cache->job_is_out = true;
    cache->has_skipped = false;
}

/* ---- jobs back ---- */

static void take_file(struct leat_run_cache *cache, const struct leat_cache_found *found) {
    leat_cache_file_unref(cache->file);
    leat_cache_items_drop(&cache->items);
    cache->file = found->file;
    cache->is_builder = found->is_builder;
    cache->is_whole = false;
    cache->next_record = found->file ? found->file->n_records : 0;
    cache->generation++;
}

static enum leat_run_cache_event end_open(struct leat_run_cache *cache,
                                          const struct leat_cache_job *job,
                                          const struct leat_error *error) {
    struct leat_error err = LEAT_ERROR_INIT;

    cache->data = job->data;
    cache->state = LEAT_RUN_CACHE_FRAMES;
    if (job->has_changed)
        return LEAT_CACHE_EVENT_CHANGED;
    if (error->code)
        note(cache, error);
    if (job->is_same)
        return LEAT_CACHE_EVENT_NONE;
    take_file(cache, &job->found);
    leat_cache_shard_set(&cache->shard, cache->data);
    if (cache->only_builds && !error->code && !cache->is_builder &&
        !(cache->file && cache->file->is_complete)) {
        leat_error_set(&err, -EBUSY, "%s: another process is building this cache: try again later",
                       cache->folder);
        note(cache, &err);
    }
    return LEAT_CACHE_EVENT_FOUND;
}

static void end_write(struct leat_run_cache *cache, const struct leat_cache_job *job,
                      struct leat_error *error) {
    size_t n_written = job->n_written;
    int r = 0;

    for (struct leat_cache_item *item = job->items, *next; item; item = next) {
        next = item->next;
        if (r == 0 && n_written > 0) {
            r = leat_cache_file_add(cache->file, &item->frame);
            cache->n_written_bytes += leat_cache_frame_size(&item->frame);
            n_written--;
        }
        leat_cache_items_end_write(&cache->items, item);
    }
    if (r < 0)
        leat_error_oom(error);
    if (!error->code)
        return;
    stop_building(cache);
    note(cache, error);
}

static void end_finish(struct leat_run_cache *cache, const struct leat_cache_job *job,
                       const struct leat_error *error) {
    cache->data = job->data;
    cache->is_builder = cache->is_whole = false;
    leat_cache_items_trim(&cache->items);
    if (!error->code)
        return;
    cache->has_failed_to_write = error->code != -ESTALE; /* The next pass has a new key. */
    note(cache, error);
}

enum leat_run_cache_event leat_run_cache_end_job(struct leat_run_cache *cache,
                                                 struct leat_cache_job *job,
                                                 struct leat_error *error) {
    cache->job_is_out = false;
    switch (job->task) {
    case LEAT_CACHE_OPEN:
        return end_open(cache, job, error);
    case LEAT_CACHE_WRITE:
        end_write(cache, job, error);
        break;
    case LEAT_CACHE_FINISH:
        end_finish(cache, job, error);
        break;
    default:
        break;
    }
    return LEAT_CACHE_EVENT_NONE;
}

void leat_run_cache_get_progress(const struct leat_run_cache *cache, uint64_t *ret_n_done,
                                 uint64_t *ret_n_total) {
    *ret_n_done = *ret_n_total = 0;
    if (!cache->only_builds || (cache->job_is_out && cache->state == LEAT_RUN_CACHE_CLOSED))
        return;
    *ret_n_total = leat_cache_shard_n_bytes(&cache->shard, cache->data);
    *ret_n_done = leat_cache_shard_n_done(&cache->shard, cache->data, cache->file);
}

/* Items that are being written belong to the job, so they count by their size on the disk. */
uint64_t leat_run_cache_n_bytes(const struct leat_run_cache *cache,
                                const struct leat_block_queue *queue) {
    uint64_t n_bytes = leat_cache_items_bytes(&cache->items);

    if (cache->file)
        n_bytes += cache->file->capacity * sizeof(*cache->file->frames);
    for (const struct leat_queue_entry *entry = queue->first; cache->is_builder && entry;
         entry = entry->next)
        n_bytes += entry->item ? leat_cache_item_bytes(entry->item) : 0;
    return n_bytes + (cache->job_is_out ? cache->items.n_bytes : 0);
}

/* ---- passes ---- */

static bool reads_frames(const struct leat_run_cache *cache, bool reads_index) {
    return !cache->is_index || reads_index;
}

void leat_run_cache_next_pass(struct leat_run_cache *cache, bool reads_index) {
    if (!cache->folder)
        return;
    cache->state =
        reads_frames(cache, reads_index) ? LEAT_RUN_CACHE_CLOSED : LEAT_RUN_CACHE_SCANNED;
    cache->next_frame = 0;
}

bool leat_run_cache_has_frames(const struct leat_run_cache *cache) {
    return cache->state == LEAT_RUN_CACHE_FRAMES && !cache->has_skipped;
}

/* True if the block is made of the data that the cache is of, and is not in it yet. */
static bool is_wanted(const struct leat_run_cache *cache, const struct leat_run_cache_view *view,
                      const struct leat_queue_entry *entry) {
    return cache->is_builder && !entry->file &&
           !leat_queue_entry_is_stale(entry, view->epoch, view->pass) &&
           entry->cache_generation == cache->generation &&
           entry->piece.record >= cache->next_record;
}

bool leat_run_cache_has_more_to_come(const struct leat_run_cache *cache,
                                     const struct leat_run_cache_view *view) {
    if (!cache->is_builder)
        return false;
    if (cache->items.first || cache->job_is_out)
        return true;
    for (const struct leat_queue_entry *entry = view->queue->first; entry; entry = entry->next)
        if (entry->state != LEAT_ENTRY_PASS_END && is_wanted(cache, view, entry) &&
            (entry->item || entry->state != LEAT_ENTRY_MAPPED))
            return true;
    return false;
}

enum leat_run_cache_step leat_run_cache_next_step(struct leat_run_cache *cache,
                                                  const struct leat_run_cache_view *view) {
    const struct leat_cache_file *file = cache->file;

    if (cache->state == LEAT_RUN_CACHE_SCANNED)
        return cache->items.n_bytes < WAITING_BYTES ? LEAT_CACHE_STEP_READ : LEAT_CACHE_STEP_WAIT;
    if (cache->state == LEAT_RUN_CACHE_CLOSED)
        return LEAT_CACHE_STEP_WAIT;
    if (file && cache->only_builds)
        cache->next_frame = file->n_frames;
    if (file && cache->next_frame < file->n_frames && reads_frames(cache, view->reads_index))
        return LEAT_CACHE_STEP_FRAME;
    if (file && file->is_complete && cache->next_frame == file->n_frames)
        return LEAT_CACHE_STEP_END;
    if (reads_frames(cache, view->reads_index) && leat_run_cache_has_more_to_come(cache, view))
        return LEAT_CACHE_STEP_WAIT;
    return LEAT_CACHE_STEP_START;
}

const struct leat_cache_frame *leat_run_cache_start_reading(struct leat_run_cache *cache,
                                                            bool *ret_is_shard, size_t *ret_file) {
    cache->state = LEAT_RUN_CACHE_SCANNED;
    *ret_is_shard = cache->shard.n_shards > 0;
    *ret_file = *ret_is_shard ? leat_cache_shard_start(&cache->shard, cache->data) : 0;
    return cache->next_frame > 0 ? &cache->file->frames[cache->next_frame - 1] : NULL;
}

/* ---- blocks ---- */

void leat_run_cache_start_map(struct leat_run_cache *cache, const struct leat_run_cache_view *view,
                              const struct leat_queue_entry *entry, bool with_frame,
                              struct leat_map_job *job) {
    struct leat_error err = LEAT_ERROR_INIT;
    bool for_cache = is_wanted(cache, view, entry);

    if (entry->file)
        job->load = leat_cache_load(entry->file, &entry->frame);
    else if (for_cache || with_frame)
        job->item = leat_cache_items_take(&cache->items);
    if (for_cache && !job->item) {
        leat_error_oom(&err);
        stop_building(cache);
        note(cache, &err);
    }
}

/* Notes where a damaged block is, and if it was repaired. */
static void note_damage(struct leat_run_cache *cache, const struct leat_map_job *job) {
    const struct leat_cache_span *span = &job->piece.span;
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, job->load.damage.code, "%s (%u records of %s from line %llu on): %s",
                   job->load.damage.message, span->n_records,
                   cache->plan->source->files.paths[span->file], (unsigned long long)span->line,
                   job->load.is_repaired ? "leat made the block again and repaired the cache"
                                         : "leat made the block again from the source");
    note(cache, &err);
}

bool leat_run_cache_is_without_values(const struct leat_run_cache *cache,
                                      const struct leat_queue_entry *entry,
                                      const struct leat_job *job) {
    return entry->file && (cache->is_index || job->map.without_values) && !job->error.code &&
           !job->map.load.damage.code;
}

void leat_run_cache_end_map(struct leat_run_cache *cache, struct leat_queue_entry *entry,
                            struct leat_job *job) {
    if (job->map.load.damage.code && !job->error.code)
        note_damage(cache, &job->map);
    if (!job->map.item)
        return;
    if (job->error.code || job->map.item_error.code) {
        leat_cache_items_give(&cache->items, job->map.item);
        if (!job->error.code && cache->is_builder) {
            stop_building(cache);
            note(cache, &job->map.item_error);
        }
        return;
    }
    leat_queue_entry_give_item(entry, job->map.item);
}

static void move_on(struct leat_run_cache *cache, const struct leat_run_cache_view *view,
                    struct leat_queue_entry *entry) {
    struct leat_cache_item *item = leat_queue_entry_take_item(entry);

    if (!is_wanted(cache, view, entry) || entry->piece.record != cache->next_record) {
        leat_cache_items_give(&cache->items, item);
        return;
    }
    cache->next_record += item->frame.span.n_records;
    leat_cache_items_add(&cache->items, item);
}

void leat_run_cache_collect(struct leat_run_cache *cache, const struct leat_run_cache_view *view) {
    for (struct leat_queue_entry *entry = view->queue->first; entry; entry = entry->next) {
        if (entry->file || leat_queue_entry_is_stale(entry, view->epoch, view->pass))
            continue;
        if (entry->state == LEAT_ENTRY_PASS_END)
            cache->is_whole |= is_wanted(cache, view, entry) && !entry->error.code &&
                               entry->piece.record == cache->next_record;
        else if (entry->state != LEAT_ENTRY_MAPPED)
            return;
        else if (entry->item)
            move_on(cache, view, entry);
    }
}

void leat_run_cache_forget(struct leat_run_cache *cache, struct leat_queue_entry *entry) {
    leat_cache_items_give(&cache->items, leat_queue_entry_take_item(entry));
    leat_cache_file_unref(entry->file);
}
