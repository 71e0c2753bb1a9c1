/* run/cache.c: see run/cache.h. */
#include "pipeline/run/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/index.h"
#include "pipeline/run/run_internal.h"

#define WAITING_BYTES (4U << 20) /* that are to be written: a slow disk stops the scanner */

static const char *folder_of(const struct leat_run *run) {
    if (run->cache.is_index)
        return leat_run_index_folder(run);
    return run->options.cache_folder ? run->options.cache_folder : run->plan->cache_path;
}

const struct leat_bare_schema *leat_run_cache_schema(const struct leat_run *run) {
    return run->cache.is_index ? &run->cache.bare_schema : NULL;
}

/* ---- life ---- */

void leat_run_cache_init(struct leat_run *run) {
    run->cache.last = &run->cache.first;
    leat_run_index_init(run);
    run->cache.state = folder_of(run) ? LEAT_RUN_CACHE_CLOSED : LEAT_RUN_CACHE_SCANNED;
}

static struct leat_cache_item *free_item(struct leat_cache_item *item) {
    leat_cache_bytes_deinit(&item->block);
    leat_cache_bytes_deinit(&item->stored);
    free(item);
    return NULL;
}

static struct leat_cache_item *take_item(struct leat_run_cache *cache) {
    struct leat_cache_item *item = cache->free_items;

    if (!item)
        return calloc(1, sizeof(*item));
    cache->free_items = item->next;
    return item;
}

static void give_item(struct leat_run_cache *cache, struct leat_cache_item *item) {
    if (!item)
        return;
    item->next = cache->free_items;
    cache->free_items = item;
}

static void free_items(struct leat_run_cache *cache) {
    while (cache->free_items) {
        struct leat_cache_item *item = cache->free_items;

        cache->free_items = item->next;
        free_item(item);
    }
}

static void drop_waiting(struct leat_run_cache *cache) {
    while (cache->first) {
        struct leat_cache_item *item = cache->first;

        cache->first = item->next;
        give_item(cache, item);
    }
    cache->last = &cache->first;
    cache->n_bytes = 0;
}

void leat_run_cache_deinit(struct leat_run *run) {
    struct leat_run_cache *cache = &run->cache;

    drop_waiting(cache);
    free_items(cache);
    leat_cache_file_unref(cache->file);
    leat_cache_data_deinit(&cache->data);
    leat_bare_schema_deinit(&cache->bare_schema);
}

void leat_run_cache_forget(struct leat_run *run, struct leat_queue_entry *entry) {
    give_item(&run->cache, entry->item);
    leat_cache_file_unref(entry->file);
    entry->item = NULL;
    entry->file = NULL;
}

/* Something went wrong: the stream goes on, but who came for the cache alone cannot. */
static void note(struct leat_run *run, const struct leat_error *err) {
    run->cache.note = *err;
    leat_error_prefix(&run->cache.note, run->cache.is_index ? "index" : "cache");
    run->cache.n_notes++;
    if (run->options.only_builds)
        leat_run_fail(run, &run->cache.note);
}

static void stop_building(struct leat_run *run) {
    run->cache.is_builder = run->cache.is_whole = false;
    run->cache.has_failed_to_write = true;
    drop_waiting(&run->cache);
}

/* ---- jobs ---- */

static int make_job(struct leat_run *run, enum leat_cache_task task, struct leat_job **ret_job) {
    struct leat_run_cache *cache = &run->cache;
    struct leat_job *job = leat_run_take_job(run, LEAT_JOB_CACHE);

    if (!job) {
        leat_run_out_of_memory(run);
        return 0;
    }
    job->cache = (struct leat_cache_job){
        .task = task,
        .plan = run->plan,
        .opener = run->options.opener,
        .folder = folder_of(run),
        .shard = run->options.shard,
        .n_shards = run->options.n_shards,
        .file = cache->file,
        .is_builder = cache->is_builder,
        .is_index = cache->is_index,
        .has_columns = cache->bare_schema.has_columns,
        .begins_anew = !leat_run_index_is_read(run),
        .data = cache->data,
        .watch = &run->watch,
        .is_settled = cache->file &&
                      (cache->is_builder || cache->file->is_complete || cache->has_failed_to_write),
        .may_build = !cache->has_failed_to_write && !run->options.only_places,
    };
    cache->job_is_out = true;
    cache->has_passed = false;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static int write_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_run_cache *cache = &run->cache;
    uint64_t position = cache->file->end, record = cache->file->n_records;

    if (make_job(run, LEAT_CACHE_WRITE, ret_job) == 0)
        return 0;
    for (struct leat_cache_item *item = cache->first; item; item = item->next) {
        item->frame.position = position;
        item->frame.record = record;
        position += leat_cache_frame_size(&item->frame);
        record += item->frame.span.n_records;
    }
    (*ret_job)->cache.items = cache->first;
    cache->first = NULL;
    cache->last = &cache->first;
    return LEAT_RUN_JOB;
}

int leat_run_cache_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_run_cache *cache = &run->cache;

    if (cache->job_is_out)
        return 0;
    if (cache->is_builder && cache->first && (cache->is_whole || !run->is_cancelled) &&
        (!cache->is_index || cache->is_whole || cache->state != LEAT_RUN_CACHE_SCANNED ||
         cache->n_bytes >= LEAT_INDEX_WRITE_BYTES))
        return write_job(run, ret_job);
    if (cache->is_builder && cache->is_whole) {
        cache->file->is_complete = true; /* for this run it is, whatever comes of it on the disk */
        return make_job(run, LEAT_CACHE_FINISH, ret_job);
    }
    if (cache->state == LEAT_RUN_CACHE_CLOSED && !run->scan_has_ended && !run->is_complete &&
        !run->has_failed && !run->is_cancelled && leat_run_may_scan(run, run->scan_epoch))
        return make_job(run, LEAT_CACHE_OPEN, ret_job);
    if (cache->has_passed && !run->is_cancelled)
        return make_job(run, LEAT_CACHE_PASS, ret_job);
    return 0;
}

/* ---- jobs back ---- */

/* Part i of n of the bytes. */
static uint64_t part(uint64_t n_bytes, uint32_t i, uint32_t n) {
    return (uint64_t)((unsigned __int128)n_bytes * i / n);
}

static void set_shard(struct leat_run *run) {
    uint32_t i = run->options.shard, n = run->options.n_shards;

    if (n == 0)
        return;
    run->cache.shard = (struct leat_run_shard){.from = part(run->cache.data.n_bytes, i, n),
                                               .to = part(run->cache.data.n_bytes, i + 1, n)};
}

static void take_file(struct leat_run *run, const struct leat_cache_found *found) {
    struct leat_run_cache *cache = &run->cache;

    leat_cache_file_unref(cache->file);
    drop_waiting(cache);
    cache->file = found->file;
    cache->is_builder = found->is_builder;
    cache->is_whole = false;
    cache->next_record = found->file ? found->file->n_records : 0;
    cache->generation++;
}

static void complete_open(struct leat_run *run, struct leat_job *job) {
    struct leat_run_cache *cache = &run->cache;
    struct leat_error err = LEAT_ERROR_INIT;

    cache->data = job->cache.data;
    cache->state = LEAT_RUN_CACHE_FRAMES;
    leat_run_take_watched(run);
    if (job->cache.has_changed) {
        leat_run_fail_scan(run, &job->error);
        return;
    }
    if (job->error.code)
        note(run, &job->error);
    if (job->cache.is_same)
        return;
    take_file(run, &job->cache.found);
    if (leat_run_is_passing(run))
        leat_bares_note(run);
    set_shard(run);
    if (!run->options.only_builds || job->error.code || cache->is_builder ||
        (cache->file && cache->file->is_complete))
        return;
    leat_error_set(&err, -EBUSY, "%s: another process is building this cache", folder_of(run));
    note(run, &err);
}

static void complete_write(struct leat_run *run, struct leat_job *job) {
    struct leat_run_cache *cache = &run->cache;
    size_t n_written = job->cache.n_written;
    int r = 0;

    for (struct leat_cache_item *item = job->cache.items, *next; item; item = next) {
        next = item->next;
        cache->n_bytes -= leat_cache_frame_size(&item->frame);
        if (r == 0 && n_written > 0) {
            r = leat_cache_file_add(cache->file, &item->frame);
            cache->n_written_bytes += leat_cache_frame_size(&item->frame);
            n_written--;
        }
        give_item(cache, item);
    }
    if (r < 0)
        leat_error_oom(&job->error);
    if (!job->error.code)
        return;
    stop_building(run);
    note(run, &job->error);
}

void leat_run_cache_complete(struct leat_run *run, struct leat_job *job) {
    struct leat_run_cache *cache = &run->cache;

    cache->job_is_out = false;
    switch (job->cache.task) {
    case LEAT_CACHE_OPEN:
        complete_open(run, job);
        return;
    case LEAT_CACHE_WRITE:
        complete_write(run, job);
        return;
    case LEAT_CACHE_PASS:
        return;
    default:
        cache->data = job->cache.data;
        cache->is_builder = cache->is_whole = false;
        free_items(cache);
        if (job->error.code) {
            cache->has_failed_to_write =
                job->error.code != -ESTALE; /* the next pass has a new key */
            note(run, &job->error);
        }
    }
}

/* ---- for people ---- */

const struct leat_cache_file *leat_run_get_cache(const struct leat_run *run) {
    return run->cache.is_index ? NULL : run->cache.file;
}

/* Where the last frame ends among all bytes of the source. */
static uint64_t done_bytes(const struct leat_run *run) {
    const struct leat_cache_file *file = run->cache.file;
    const struct leat_cache_data *data = &run->cache.data;
    const struct leat_cache_span *last;
    uint64_t n_bytes = 0;

    if (!file || file->n_frames == 0)
        return run->cache.shard.from;
    last = &file->frames[file->n_frames - 1].span;
    for (size_t i = 0; i < last->file && i < data->n_sources; i++)
        n_bytes += data->sources[i].n_bytes;
    if (last->file < data->n_sources &&
        last->offset + last->n_bytes > data->sources[last->file].n_bytes)
        return n_bytes + data->sources[last->file].n_bytes;
    return n_bytes + last->offset + last->n_bytes;
}

static uint64_t items_bytes(const struct leat_cache_item *first) {
    uint64_t n_bytes = 0;

    for (const struct leat_cache_item *item = first; item; item = item->next)
        n_bytes += item->block.capacity + item->stored.capacity;
    return n_bytes;
}

/* What is being written is not to be looked at: it counts as what it takes on the disk. */
uint64_t leat_run_cache_n_bytes(const struct leat_run *run) {
    const struct leat_run_cache *cache = &run->cache;
    uint64_t n_bytes = items_bytes(cache->free_items) + items_bytes(cache->first);

    if (cache->file)
        n_bytes += cache->file->capacity * sizeof(*cache->file->frames);

    for (const struct leat_queue_entry *entry = run->first; cache->is_builder && entry;
         entry = entry->next)
        n_bytes += entry->item ? entry->item->block.capacity + entry->item->stored.capacity : 0;
    return n_bytes + (cache->job_is_out ? cache->n_bytes : 0);
}

void leat_run_cache_get_stats(const struct leat_run *run, struct leat_run_stats *stats) {
    const struct leat_run_cache *cache = &run->cache;

    stats->n_cache_written_bytes = cache->is_index ? 0 : cache->n_written_bytes;
    stats->n_cache_notes = cache->n_notes;
    stats->cache_note = &cache->note;
    if (!run->options.only_builds || (cache->job_is_out && cache->state == LEAT_RUN_CACHE_CLOSED))
        return;
    stats->n_cache_total_bytes =
        run->options.n_shards > 0 ? cache->shard.to - cache->shard.from : cache->data.n_bytes;
    stats->n_cache_done_bytes = done_bytes(run) - cache->shard.from;
}

/* ---- the line of blocks ---- */

void leat_run_cache_next_pass(struct leat_run *run) {
    if (!folder_of(run))
        return;
    run->cache.state = leat_run_index_is_read(run) ? LEAT_RUN_CACHE_CLOSED : LEAT_RUN_CACHE_SCANNED;
    run->cache.next_frame = 0;
}

/* The head of a frame does not tell bad records from those that filters dropped: where bad ones are
 * to be met, only frames without either are passed over; nor does it tell which records
 * the rows are of, which may be asked. */
static bool may_pass_over(const struct leat_run *run, const struct leat_cache_frame *frame) {
    bool may_drop =
        run->plan->options.on_error == LEAT_ON_ERROR_FAIL && !leat_run_wants_places(run);

    return run->bares.may_skip && leat_run_is_passing(run) &&
           (may_drop || frame->n_rows == frame->span.n_records);
}

struct leat_queue_entry *
leat_run_cache_add_frame(struct leat_run *run, const struct leat_cache_frame *frame, bool is_part) {
    bool is_bare =
        may_pass_over(run, frame) && (!is_part || frame->n_rows == frame->span.n_records);
    struct leat_piece piece = {.span = frame->span, .record = frame->record};
    struct leat_queue_entry *entry = leat_run_add_entry(run, LEAT_ENTRY_CACHED, &piece, NULL);

    if (!entry) {
        leat_run_out_of_memory(run);
        return NULL;
    }
    entry->file = leat_cache_file_ref(run->cache.file);
    entry->frame = *frame;
    run->stats.n_source_records += frame->span.n_records;
    if (is_bare && !leat_run_make_bare(run, entry, frame->n_rows)) {
        leat_run_out_of_memory(run);
        return NULL;
    }
    run->has_end |= is_bare;
    run->cache.has_passed |= is_bare;
    return entry;
}

/* False: there are more than there is room for. */
static bool add_frames(struct leat_run *run, size_t max_entries) {
    struct leat_run_cache *cache = &run->cache;

    if (run->options.only_builds)
        cache->next_frame = cache->file->n_frames;
    while (cache->next_frame < cache->file->n_frames && leat_run_index_is_read(run)) {
        if (run->n_entries >= max_entries ||
            !leat_run_cache_add_frame(run, &cache->file->frames[cache->next_frame], false))
            return false;
        cache->next_frame++;
    }
    return true;
}

/* Made of the data that the cache is of, and not in it yet. */
static bool is_wanted(const struct leat_run *run, const struct leat_queue_entry *entry) {
    const struct leat_run_cache *cache = &run->cache;

    return cache->is_builder && !entry->file && !leat_run_is_stale(run, entry) &&
           entry->cache_generation == cache->generation &&
           entry->piece.record >= cache->next_record;
}

/* Blocks of the pass before may still be on their way into the cache: they are worth waiting for.
 */
static bool has_more_to_come(const struct leat_run *run) {
    const struct leat_run_cache *cache = &run->cache;

    if (!cache->is_builder)
        return false;
    if (cache->first || cache->job_is_out)
        return true;
    for (const struct leat_queue_entry *entry = run->first; entry; entry = entry->next)
        if (entry->state != LEAT_ENTRY_PASS_END && is_wanted(run, entry) &&
            (entry->item || entry->state != LEAT_ENTRY_MAPPED))
            return true;
    return false;
}

/* The file that the shard begins in, and where it lies among all bytes. */
static void start_shard(struct leat_run *run) {
    struct leat_run_shard *shard = &run->cache.shard;
    const struct leat_cache_data *data = &run->cache.data;

    shard->n_skipped = 0;
    shard->file = 0;
    shard->base = 0;
    while (shard->file + 1 < data->n_sources &&
           shard->base + data->sources[shard->file].n_bytes <= shard->from)
        shard->base += data->sources[shard->file++].n_bytes;
    run->scan.file = shard->file;
}

/* Goes on behind the last frame that was put in line. */
static void start_scanner(struct leat_run *run) {
    const struct leat_run_cache *cache = &run->cache;
    const struct leat_cache_frame *last =
        cache->next_frame > 0 ? &cache->file->frames[cache->next_frame - 1] : NULL;

    run->cache.state = LEAT_RUN_CACHE_SCANNED;
    if (run->options.n_shards > 0)
        start_shard(run);
    run->scan_end_record = last ? last->record + last->span.n_records : 0;
    if (last)
        leat_scan_start_behind(&run->scan, run->plan, run->options.opener, &last->span,
                               run->scan_end_record);
}

/* What is not built cannot be gone on behind: blocks are read from all over the source. */
static bool lets_scan_blocks(struct leat_run *run, size_t max_entries) {
    if (run->cache.file && !run->cache.file->is_complete && has_more_to_come(run))
        return false;
    if (!leat_run_spans_let_scan(run, max_entries))
        return false;
    if (run->spans.is_building) {
        run->cache.next_frame = run->cache.file->n_frames;
        start_scanner(run);
    }
    run->cache.state = LEAT_RUN_CACHE_SCANNED;
    return true;
}

bool leat_run_cache_lets_scan(struct leat_run *run, size_t max_entries) {
    struct leat_run_cache *cache = &run->cache;

    if (cache->state == LEAT_RUN_CACHE_SCANNED)
        return cache->n_bytes < WAITING_BYTES;
    if (cache->state == LEAT_RUN_CACHE_CLOSED || cache->has_passed)
        return false;
    if (leat_run_spans_are_wanted(run->plan, run->options.only_builds))
        return lets_scan_blocks(run, max_entries);
    if (cache->file && !add_frames(run, max_entries))
        return false;
    if (cache->file && cache->file->is_complete && cache->next_frame == cache->file->n_frames) {
        leat_run_end_scan(run, cache->file->n_records);
        return false;
    }
    if (leat_run_index_is_read(run) && has_more_to_come(run))
        return false;
    start_scanner(run);
    return true;
}

/* Of compressed files offsets are those of their text: what lies beyond the size of the file counts
 * where that ends. */
static uint64_t place_in(const struct leat_data_identity *source, uint64_t offset) {
    return source->n_bytes > 0 && offset >= source->n_bytes ? source->n_bytes - 1 : offset;
}

enum leat_run_cache_sifted leat_run_cache_sift(struct leat_run *run, struct leat_piece *piece) {
    struct leat_run_shard *shard = &run->cache.shard;
    uint64_t offset;

    if (run->options.n_shards == 0)
        return LEAT_RUN_CACHE_TAKE;
    while (shard->file < piece->span.file)
        shard->base += run->cache.data.sources[shard->file++].n_bytes;
    offset = shard->base + place_in(&run->cache.data.sources[shard->file], piece->span.offset);
    if (offset >= shard->to)
        return LEAT_RUN_CACHE_END;
    if (offset < shard->from) {
        shard->n_skipped += piece->span.n_records;
        return LEAT_RUN_CACHE_SKIP;
    }
    piece->record -= shard->n_skipped;
    return LEAT_RUN_CACHE_TAKE;
}

/* ---- blocks ---- */

void leat_run_cache_start_map(struct leat_run *run, const struct leat_queue_entry *entry,
                              struct leat_map_job *job) {
    struct leat_run_cache *cache = &run->cache;

    job->load.fd = -1;
    job->bare_schema = leat_run_cache_schema(run);
    job->opener = run->options.opener;
    if (entry->file) {
        job->load.fd = entry->file->fd;
        job->load.seed = entry->file->seed;
        job->load.frame = entry->frame;
    } else if (is_wanted(run, entry) || run->residents.max_bytes > 0) {
        job->item = take_item(cache);
    }
}

/* Where a damaged block is, and what was done about it. */
static void note_damage(struct leat_run *run, const struct leat_map_job *job) {
    const struct leat_cache_span *span = &job->piece.span;
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, job->load.damage.code, "%s (%u records of %s from line %llu on): %s",
                   job->load.damage.message, span->n_records,
                   run->plan->source->files.paths[span->file], (unsigned long long)span->line,
                   job->load.is_repaired ? "made again, and put right there"
                                         : "made again from the source");
    note(run, &err);
}

/* What was read has no values. */
static bool cache_is_bare(const struct leat_run *run, const struct leat_job *job) {
    return run->cache.is_index && !job->error.code && !job->map.load.damage.code;
}

void leat_run_cache_end_map(struct leat_run *run, struct leat_queue_entry *entry,
                            struct leat_job *job) {
    if (job->map.load.damage.code && !job->error.code)
        note_damage(run, &job->map);
    if (entry && entry->file && cache_is_bare(run, job) && !leat_run_know_bare(run, entry))
        leat_run_out_of_memory(run);
    if (!job->map.item)
        return;
    if (job->error.code || job->map.item_error.code) {
        give_item(&run->cache, job->map.item);
        if (!job->error.code && run->cache.is_builder) {
            stop_building(run);
            note(run, &job->map.item_error);
        }
        return;
    }
    entry->item = job->map.item;
    entry->frame = entry->item->frame;
    entry->frame.record = entry->piece.record;
}

static void move_on(struct leat_run *run, struct leat_queue_entry *entry) {
    struct leat_run_cache *cache = &run->cache;
    struct leat_cache_item *item = entry->item;

    entry->item = NULL;
    if (!is_wanted(run, entry) || entry->piece.record != cache->next_record) {
        give_item(cache, item);
        return;
    }
    item->next = NULL;
    *cache->last = item;
    cache->last = &item->next;
    cache->n_bytes += leat_cache_frame_size(&item->frame);
    cache->next_record += item->frame.span.n_records;
}

void leat_run_cache_collect(struct leat_run *run) {
    struct leat_run_cache *cache = &run->cache;

    for (struct leat_queue_entry *entry = run->first; entry; entry = entry->next) {
        if (entry->file || leat_run_is_stale(run, entry))
            continue;
        if (entry->state == LEAT_ENTRY_PASS_END)
            cache->is_whole |= is_wanted(run, entry) && !entry->error.code &&
                               entry->piece.record == cache->next_record;
        else if (entry->state != LEAT_ENTRY_MAPPED)
            return;
        else if (entry->item)
            move_on(run, entry);
    }
}
