/* cache/merge.c: see cache/merge.h. */
#include "pipeline/cache/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/key.h"

struct shard {
    char *path;
    struct leat_cache_file *file;
};

struct merge {
    struct leat_cache_identity identity; /* of the source as it is here */
    const char *folder;                  /* of the cache */
    struct shard *shards;
    size_t n_shards;
    uint64_t n_bytes; /* of all shards */
    const struct leat_cache_merge_watch *watch;
    struct leat_error *err;
};

/* ---- the shards ---- */

static int check_shard(const struct merge *merge, const struct shard *shard) {
    const struct leat_cache_identity *identity = &shard->file->identity;

    if (identity->n_shards < 2 || identity->n_shards > LEAT_CACHE_SHARDS_MAX ||
        identity->shard >= identity->n_shards)
        return leat_error_set(merge->err, -EINVAL, "%s: is no shard of a cache", shard->path);
    if (!shard->file->is_complete)
        return leat_error_set(merge->err, -EINVAL,
                              "%s: is not complete: shard %u/%u has to be prepared to its end",
                              shard->path, identity->shard, identity->n_shards);
    if (memcmp(identity->spec, merge->identity.spec, sizeof(identity->spec)) != 0)
        return leat_error_set(merge->err, -ESTALE,
                              "%s: was made with another source, other per-record stages, another "
                              "tokenizer or another version of leat",
                              shard->path);
    if (memcmp(identity->data, merge->identity.data, sizeof(identity->data)) != 0)
        return leat_error_set(merge->err, -ESTALE,
                              "%s: was made of other data, or with another "
                              "`verify`",
                              shard->path);
    return 0;
}

static int add_shard(struct merge *merge, const char *path) {
    struct shard *larger, *shard;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int r;

    if (fd < 0)
        return leat_error_set(merge->err, -errno, "%s: %s", path, strerror(errno));
    if ((merge->n_shards & (merge->n_shards - 1)) == 0) {
        larger =
            reallocarray(merge->shards, merge->n_shards ? merge->n_shards * 2 : 1, sizeof(*larger));
        if (!larger) {
            (void)close(fd);
            return leat_error_oom(merge->err);
        }
        merge->shards = larger;
    }
    shard = &merge->shards[merge->n_shards++];
    *shard = (struct shard){.path = strdup(path)};
    r = leat_cache_file_open(fd, &shard->file, merge->err);
    if (r < 0 || !shard->path) {
        leat_error_prefix(merge->err, "%s", path);
        return r < 0 ? r : leat_error_oom(merge->err);
    }
    return check_shard(merge, shard);
}

/* "KEY-I-of-N.leat" */
static int is_shard_name(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);

    return n > 5 && strcmp(entry->d_name + n - 5, ".leat") == 0 && strstr(entry->d_name, "-of-");
}

/* By name, so that of several faults the same one is told every time. */
static int add_folder(struct merge *merge, const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_shard_name, alphasort);
    int r = 0;

    if (n < 0)
        return leat_error_set(merge->err, -errno, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = r == 0 ? leat_files_join(folder, entries[i]->d_name) : NULL;

        if (r == 0)
            r = path ? add_shard(merge, path) : leat_error_oom(merge->err);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return r;
}

size_t leat_cache_merge_count(const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_shard_name, NULL);

    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
    return n > 0 ? (size_t)n : 0;
}

static int add_path(struct merge *merge, const char *path) {
    struct stat info;

    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(merge, path);
    return add_shard(merge, path);
}

static int by_shard(const void *a, const void *b) {
    uint32_t x = ((const struct shard *)a)->file->identity.shard;
    uint32_t y = ((const struct shard *)b)->file->identity.shard;

    return (x > y) - (x < y);
}

/* Each of them once. */
static int check_all(const struct merge *merge) {
    uint32_t n = merge->n_shards > 0 ? merge->shards[0].file->identity.n_shards : 0;

    if (n == 0)
        return leat_error_set(merge->err, -EINVAL, "there are no shards (KEY-I-of-N.leat) there");
    for (size_t i = 0; i < merge->n_shards; i++) {
        const struct shard *shard = &merge->shards[i];

        if (shard->file->identity.n_shards != n)
            return leat_error_set(merge->err, -EINVAL, "%s: is one of %u shards, %s is one of %u",
                                  shard->path, shard->file->identity.n_shards,
                                  merge->shards[0].path, n);
        if (i > 0 && shard->file->identity.shard == shard[-1].file->identity.shard)
            return leat_error_set(merge->err, -EINVAL, "%s: is the same shard as %s", shard->path,
                                  shard[-1].path);
    }
    for (uint32_t i = 0; i < n; i++)
        if (i >= merge->n_shards || merge->shards[i].file->identity.shard != i)
            return leat_error_set(
                merge->err, -EINVAL,
                "shard %u/%u is missing: `leatctl cache prepare --shard %u/%u` makes it", i, n, i,
                n);
    return 0;
}

/* ---- to one file ---- */

static int copy_frame(struct merge *merge, const struct shard *shard, size_t i,
                      struct leat_cache_file *target, struct leat_cache_bytes *buffer) {
    struct leat_cache_frame frame = shard->file->frames[i];
    uint8_t *stored;
    int r;

    buffer->n_bytes = 0;
    stored = leat_cache_bytes_reserve(buffer, (size_t)leat_cache_frame_size(&frame));
    if (!stored)
        return leat_error_oom(merge->err);
    r = leat_cache_file_read(shard->file->fd, &frame, stored, merge->err);
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

    for (size_t i = 0; r == 0 && i < merge->n_shards; i++)
        for (size_t k = 0; r == 0 && k < merge->shards[i].file->n_frames; k++) {
            r = copy_frame(merge, &merge->shards[i], k, target, &buffer);
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
        r = leat_cache_store_open(folder, &merge->identity, description, &limits, true, found,
                                  merge->err);
        if (r < 0 || !found->is_builder || found->file->n_frames == 0)
            break;
        leat_cache_store_discard(folder, found->file);
        found->file = leat_cache_file_unref(found->file);
    }
    free(description);
    if (r == 0 && !found->is_builder && !(found->file && found->file->is_complete)) {
        leat_cache_file_unref(found->file);
        return leat_error_set(merge->err, -EBUSY, "%s: another process is building this cache",
                              folder);
    }
    return r;
}

static int write_target(struct merge *merge, const struct leat_plan *plan, const char *folder,
                        struct leat_cache_file *target) {
    struct leat_cache_limits limits = {.max_size = plan->options.cache.max_size,
                                       .max_age = plan->options.cache.max_age};
    int r;

    for (size_t i = 0; i < merge->n_shards; i++)
        merge->n_bytes += merge->shards[i].file->end;
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

static void free_shards(struct merge *merge) {
    for (size_t i = 0; i < merge->n_shards; i++) {
        free(merge->shards[i].path);
        leat_cache_file_unref(merge->shards[i].file);
    }
    free(merge->shards);
}

int leat_cache_merge(const struct leat_plan *plan, const struct leat_opener *opener,
                     const char *folder, const char *const *paths, size_t n_paths,
                     const struct leat_cache_merge_watch *watch,
                     struct leat_cache_merged *ret_merged, struct leat_error *err) {
    struct merge merge = {.err = err, .folder = folder, .watch = watch};
    struct leat_cache_data data = {.sources = NULL};
    int r = leat_cache_key(plan, opener, &data, &merge.identity, err);

    leat_cache_data_deinit(&data);
    for (size_t i = 0; r == 0 && i < n_paths; i++)
        r = add_path(&merge, paths[i]);
    if (r == 0 && merge.n_shards > 0)
        qsort(merge.shards, merge.n_shards, sizeof(*merge.shards), by_shard);
    if (r == 0)
        r = check_all(&merge);
    if (r == 0)
        r = merge_into(&merge, plan, folder, ret_merged);
    free_shards(&merge);
    return r;
}
