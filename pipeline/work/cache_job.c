/* cache_job.c: the CACHE job: finds the cache of the data as it is now, or writes blocks to it. Any
 * thread. See cache_job.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/index.h"
#include "pipeline/cache/sealed.h"
#include "pipeline/io/state_folder.h"
#include "pipeline/work/cache_job.h"
#include "pipeline/work/knobs.h"
#include "pipeline/work/map.h"

#define INDEX_BYTES (INT64_C(1) << 30)
#define INDEX_FILES 4096

static struct leat_cache_limits limits_of(const struct leat_cache_job *job) {
    struct leat_cache_limits none = {.max_size = 0};

    if (job->is_index)
        return (struct leat_cache_limits){.max_size = INDEX_BYTES, .max_files = INDEX_FILES};
    if (job->n_shards > 0)
        return none;
    return (struct leat_cache_limits){.max_size = job->plan->options.cache.max_size,
                                      .max_age = job->plan->options.cache.max_age};
}

static int find_identity(struct leat_cache_job *job, struct leat_cache_identity *ret_identity,
                         struct leat_error *err) {
    int r = leat_cache_key(job->plan, job->opener, &job->data, ret_identity, err);

    if (r == 0 && job->n_shards > 0)
        leat_cache_shard_identify(job->shard, job->n_shards, ret_identity);
    if (r == 0 && job->is_index)
        leat_index_key(job->plan, job->has_columns, ret_identity);
    return r;
}

static bool is_of(const struct leat_cache_job *job, const struct leat_cache_identity *identity) {
    return job->file && memcmp(&job->file->identity, identity, sizeof(*identity)) == 0;
}

/* Least bytes of a row in a block. */
static uint64_t row_bytes(const struct leat_cache_job *job) {
    uint64_t n = 0;

    for (uint32_t i = 0; (!job->is_index || job->has_columns) && i < job->plan->n_columns; i++)
        n += job->plan->is_kept[i];
    return n;
}

/* Checks the heads of frames, which are used before their blocks are read and may be forged: the
 * file must exist, the piece must not be too large, and the block must have room for its rows. */
static int check_frames(const struct leat_cache_job *job, struct leat_error *err) {
    const struct leat_cache_file *file = job->found.file;
    uint64_t max_record = (uint64_t)job->plan->options.max_record_bytes;
    uint64_t max_block = leat_knob_max(LEAT_KNOB_BLOCK_BYTES);
    uint64_t max_bytes = 2 * (max_record > max_block ? max_record : max_block);
    uint64_t n = row_bytes(job);

    for (size_t i = 0; i < file->n_frames; i++) {
        const struct leat_cache_frame *frame = &file->frames[i];

        if (frame->span.file >= job->plan->source->files.n_paths ||
            frame->span.n_bytes > max_bytes || frame->n_rows * n > frame->n_bytes)
            return leat_error_set(err, -EBADMSG,
                                  "%.300s: the cache is damaged: the block at byte %llu cannot "
                                  "have %u records: remove this cache",
                                  job->folder, (unsigned long long)frame->position,
                                  frame->span.n_records);
    }
    return 0;
}

static int open_cache(struct leat_cache_job *job, struct leat_error *err) {
    struct leat_cache_limits limits = limits_of(job);
    struct leat_cache_identity identity;
    char *description;
    int r = leat_data_watch_check(job->watch, SIZE_MAX, err);

    job->has_changed = r < 0;
    if (r == 0)
        r = find_identity(job, &identity, err);
    if (r < 0)
        return r;
    job->is_same = job->is_settled && is_of(job, &identity);
    if (job->is_same)
        return 0;
    if (job->plan->set) {
        r = leat_sealed_open(job->plan, job->opener, &identity, &job->found.file, err);
        if (r == 0)
            r = check_frames(job, err);
        job->has_changed = r < 0; /* there is nothing else to read */
        return r;
    }
    if (job->is_builder) /* The data has changed somewhere. */
        leat_cache_store_discard(job->folder, job->file);
    if (job->is_index && !job->plan->index_path)
        (void)leat_state_folder_make(job->folder);
    description = leat_cache_describe(job->plan);
    if (!description)
        r = leat_error_oom(err);
    else if (job->n_shards > 0)
        r = leat_cache_shard_open(job->folder, &identity, description, &job->found, err);
    else
        r = leat_cache_store_open(job->folder, &identity, description, &limits, job->may_build,
                                  &job->found, err);
    free(description);
    if (r == 0 && job->found.file)
        job->found.file->is_cheap = job->is_index;
    if (r == 0 && job->begins_anew && job->found.is_builder)
        r = leat_cache_file_clear(job->found.file, err);
    if (r == 0 && job->found.file)
        r = check_frames(job, err);
    if (r == -EBADMSG) {
        if (job->found.is_builder)
            leat_cache_store_discard(job->folder, job->found.file);
        leat_cache_file_unref(job->found.file);
        job->found = (struct leat_cache_found){.file = NULL};
    }
    return r;
}

static uint64_t count_bytes(const struct leat_cache_job *job) {
    uint64_t n_bytes = 0;

    for (const struct leat_cache_item *item = job->items; item; item = item->next)
        n_bytes += leat_cache_frame_size(&item->frame);
    return n_bytes;
}

/* Checks that the files of the items have not changed since the key was made. */
static int check_sources(struct leat_cache_job *job, struct leat_error *err) {
    const struct leat_cache_item *last = NULL;
    int r = 0;

    for (const struct leat_cache_item *item = job->items; r == 0 && item; item = item->next) {
        if (!last || last->frame.span.file != item->frame.span.file)
            r = leat_cache_check_source(job->plan, job->opener, job->data, item->frame.span.file,
                                        err);
        last = item;
    }
    return r;
}

/* Adds the folder to the error, as the file has no name. */
static int write_item(const struct leat_cache_job *job, const struct leat_cache_item *item,
                      struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    int r = leat_cache_file_write(job->file->fd, job->file->seed, &item->frame, item->bytes, &own);

    return r < 0 ? leat_error_set(err, r, "%.300s: %s", job->folder, own.message) : 0;
}

static int write_items(struct leat_cache_job *job, struct leat_error *err) {
    struct leat_cache_limits limits = limits_of(job);
    uint64_t end = job->items->frame.position;
    int r = check_sources(job, err);

    if (r == 0)
        r = leat_cache_store_make_room(job->folder, &limits, count_bytes(job), err);
    for (const struct leat_cache_item *item = job->items; r == 0 && item; item = item->next) {
        r = write_item(job, item, err);
        job->n_written += r == 0;
        end += r == 0 ? leat_cache_frame_size(&item->frame) : 0;
    }
    if (r < 0)
        leat_cache_store_give_up(job->file, end);
    return r;
}

/* Completes the cache, unless the data changed while it was made. The key of a shard does not tell
 * if files were touched. */
static int finish(struct leat_cache_job *job, struct leat_error *err) {
    struct leat_cache_identity identity;
    int r = 0;

    for (size_t i = 0; r == 0 && job->n_shards > 0 && i < job->data->n_files; i++)
        r = leat_cache_check_source(job->plan, job->opener, job->data, i, err);
    if (r == 0)
        r = find_identity(job, &identity, err);
    if (r == 0 && !is_of(job, &identity))
        r = leat_error_set(err, -ESTALE, "the data changed while leat cached it");
    if (r == 0 && job->n_shards > 0)
        r = leat_cache_shard_publish(job->folder, job->file, err);
    else if (r == 0)
        r = leat_cache_store_finish(job->folder, job->file, err);
    else
        leat_cache_store_discard(job->folder, job->file);
    return r;
}

int leat_cache_execute(struct leat_cache_job *job, struct leat_error *err) {
    switch (job->task) {
    case LEAT_CACHE_OPEN:
        return open_cache(job, err);
    case LEAT_CACHE_WRITE:
        return write_items(job, err);
    case LEAT_CACHE_FINISH:
        return finish(job, err);
    default:
        return 0;
    }
}
