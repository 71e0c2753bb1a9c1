#include "pipeline/cache/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/key.h"
#include "pipeline/cache/shards.h"

struct merge {
    const char *folder; /* of the cache */
    struct leat_cache_shards shards;
    uint64_t n_bytes; /* of all shards */
    const struct leat_cache_merge_watch *watch;
    struct leat_error *err;
};

/* ---- to one file ---- */

static int copy_frame(struct merge *merge, const struct leat_cache_shard_file *shard, size_t i,
                      struct leat_cache_file *target, struct leat_cache_bytes *buffer) {
    struct leat_cache_frame frame = shard->file->frames[i];
    uint8_t *stored;
    int r;

    buffer->n_bytes = 0;
    stored = leat_cache_bytes_reserve(buffer, (size_t)leat_cache_frame_size(&frame));
    if (!stored)
        return leat_error_oom(merge->err);
    r = shard->file->object
            ? leat_cache_file_read_object(shard->file->object, false, &frame, stored, merge->err)
            : leat_cache_file_read(shard->file->fd, &frame, stored, merge->err);
    if (r < 0) {
        leat_error_prefix(merge->err, "%s", shard->path);
        return r;
    }
    memset(stored + frame.n_stored, 0, (8 - frame.n_stored % 8) % 8);
    leat_cache_file_place(target, &frame);
    r = leat_cache_file_write(target->fd, target->seed, &frame, stored, merge->err);
    if (r < 0)
        leat_error_prefix(merge->err, "%s", merge->folder);
    if (r == 0 && leat_cache_file_add(target, &frame) < 0)
        r = leat_error_oom(merge->err);
    return r;
}

static int copy_all(struct merge *merge, struct leat_cache_file *target) {
    struct leat_cache_bytes buffer = {.data = NULL};
    int r = 0;

    for (size_t i = 0; r == 0 && i < merge->shards.n_items; i++)
        for (size_t k = 0; r == 0 && k < merge->shards.items[i].file->n_frames; k++) {
            r = copy_frame(merge, &merge->shards.items[i], k, target, &buffer);
            if (merge->watch)
                merge->watch->on_progress(merge->watch->user, target->end, merge->n_bytes);
        }
    leat_cache_bytes_deinit(&buffer);
    return r;
}

/* The builder's empty file; what another left half is thrown away. NULL and 0: it is complete. */
static int open_target(struct merge *merge, const struct leat_plan *plan, const char *folder,
                       struct leat_cache_found *found) {
    struct leat_cache_limits limits = {.max_size = plan->options.cache.max_size,
                                       .max_age = plan->options.cache.max_age};
    char *description = leat_cache_describe(plan);
    int r = 0;

    if (!description)
        return leat_error_oom(merge->err);
    for (int i = 0; r == 0 && i < 2; i++) {
        r = leat_cache_store_open(folder, &merge->shards.identity, description, &limits, true,
                                  found, merge->err);
        if (r < 0 || !found->is_builder || found->file->n_frames == 0)
            break;
        leat_cache_store_discard(folder, found->file);
        found->file = leat_cache_file_unref(found->file);
    }
    free(description);
    if (r == 0 && !(found->file && (found->is_builder || found->file->is_complete))) {
        leat_cache_file_unref(found->file);
        return leat_error_set(merge->err, -EBUSY,
                              "%s: another process is building this cache: try again later",
                              folder);
    }
    return r;
}

static int write_target(struct merge *merge, const struct leat_plan *plan, const char *folder,
                        struct leat_cache_file *target) {
    struct leat_cache_limits limits = {.max_size = plan->options.cache.max_size,
                                       .max_age = plan->options.cache.max_age};
    int r;

    for (size_t i = 0; i < merge->shards.n_items; i++)
        merge->n_bytes += merge->shards.items[i].file->end;
    r = leat_cache_store_make_room(folder, &limits, merge->n_bytes, merge->err);
    if (r == 0)
        r = copy_all(merge, target);
    if (r == 0)
        r = leat_cache_store_finish(folder, target, merge->err);
    if (r < 0)
        leat_cache_store_discard(folder, target);
    return r;
}

static int merge_into(struct merge *merge, const struct leat_plan *plan, const char *folder,
                      struct leat_cache_merged *ret_merged) {
    struct leat_cache_found found;
    const struct leat_cache_file *file;
    int r = open_target(merge, plan, folder, &found);

    if (r < 0)
        return r;
    file = found.file;
    if (found.is_builder)
        r = write_target(merge, plan, folder, found.file);
    *ret_merged = (struct leat_cache_merged){.was_there = !found.is_builder,
                                             .n_frames = file->n_frames,
                                             .n_records = file->n_records,
                                             .n_rows = file->n_rows,
                                             .n_bytes = file->end};
    leat_cache_store_name(&file->identity, ret_merged->name);
    leat_cache_file_unref(found.file);
    return r;
}

int leat_cache_merge(const struct leat_plan *plan, const struct leat_opener *opener,
                     const char *folder, const char *const *paths, size_t n_paths,
                     const struct leat_cache_merge_watch *watch,
                     struct leat_cache_merged *ret_merged, struct leat_error *err) {
    struct merge merge = {.err = err, .folder = folder, .watch = watch};
    int r = leat_cache_shards_open(&merge.shards, plan, opener, paths, n_paths, -EINVAL, err);

    if (r == 0)
        r = merge_into(&merge, plan, folder, ret_merged);
    leat_cache_shards_deinit(&merge.shards);
    return r;
}
