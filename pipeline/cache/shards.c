#include "pipeline/cache/shards.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/key.h"
#include "proto/base/array.h"
#include "proto/base/elsewhere.h"

static int check_shard(const struct leat_cache_shards *shards,
                       const struct leat_cache_shard_file *shard) {
    const struct leat_cache_identity *identity = &shard->file->identity;

    if (identity->n_shards < 2 || identity->n_shards > LEAT_CACHE_SHARDS_MAX ||
        identity->shard >= identity->n_shards)
        return leat_error_set(shards->err, -EINVAL, "%s: this file is not a shard of a cache",
                              shard->path);
    if (!shard->file->is_complete)
        return leat_error_set(shards->err, shards->code,
                              "%s: the shard is not complete: prepare shard %u/%u to its end",
                              shard->path, identity->shard, identity->n_shards);
    if (memcmp(identity->spec, shards->identity.spec, sizeof(identity->spec)) != 0)
        return leat_error_set(shards->err, -ESTALE,
                              "%s: the shard was made with another source, per-record stage, "
                              "tokenizer or version of leat: remove the file, and make the shard "
                              "again with `leatctl prepare %.200s --shard %u/%u -o DIR`",
                              shard->path, shards->spec_file, identity->shard, identity->n_shards);
    if (memcmp(identity->data, shards->identity.data, sizeof(identity->data)) != 0)
        return leat_error_set(
            shards->err, -ESTALE,
            "%s: the shard was made from other data, or with another value of `verify`: remove the "
            "file, and make the shard again with `leatctl prepare %.200s --shard %u/%u -o DIR`",
            shard->path, shards->spec_file, identity->shard, identity->n_shards);
    return 0;
}

/* Errors name the path. */
static int open_shard(const char *path, struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_object *object = NULL;
    int r;

    if (leat_elsewhere_is_object(path)) {
        r = leat_object_open(&leat_opener_any, path, &object, err);
        if (r < 0)
            return r;
        r = leat_cache_file_open_object(object, 0, ret_file, err);
    } else {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
            return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
        r = leat_cache_file_open(fd, ret_file, err);
    }
    if (r < 0)
        leat_error_prefix(err, "%s", path);
    return r;
}

static int add_shard(struct leat_cache_shards *shards, const char *path) {
    struct leat_cache_shard_file *shard;
    int r;

    if (!leat_array_reserve(&shards->items, shards->n_items + 1, &shards->capacity))
        return leat_error_oom(shards->err);
    shard = &shards->items[shards->n_items++];
    *shard = (struct leat_cache_shard_file){.path = strdup(path)};
    r = shard->path ? open_shard(path, &shard->file, shards->err) : leat_error_oom(shards->err);
    return r < 0 ? r : check_shard(shards, shard);
}

/* "KEY-I-of-N.leat" */
static bool is_name(const char *name) {
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".leat") == 0 && strstr(name, "-of-");
}

static int is_shard_name(const struct dirent *entry) {
    return is_name(entry->d_name);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same for the objects right below a prefix. */
static int add_objects(struct leat_cache_shards *shards, const char *folder) {
    char *prefix = leat_files_join(folder, "x"), *urls = NULL;
    const char **names = NULL;
    size_t n_bytes = 0, n = 0, capacity = 0, n_prefix;
    int r;

    if (!prefix)
        return leat_error_oom(shards->err);
    n_prefix = strlen(prefix) - 1;
    prefix[n_prefix] = '\0';
    r = leat_object_list(&leat_opener_any, prefix, &urls, &n_bytes, shards->err);
    for (size_t at = 0; r == 0 && at < n_bytes; at += strlen(urls + at) + 1) {
        const char *name = urls + at + n_prefix;

        if (strchr(name, '/') || !is_name(name))
            continue;
        if (leat_array_reserve(&names, n + 1, &capacity))
            names[n++] = urls + at;
        else
            r = leat_error_oom(shards->err);
    }
    if (n > 0)
        qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_shard(shards, names[i]);
    free(names);
    free(urls);
    free(prefix);
    return r;
}

/* Adds them by name, so that the same of several faults is reported every time. */
static int add_folder(struct leat_cache_shards *shards, const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_shard_name, alphasort);
    int r = 0;

    if (n < 0)
        return leat_error_set(shards->err, -errno, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = r == 0 ? leat_files_join(folder, entries[i]->d_name) : NULL;

        if (r == 0)
            r = path ? add_shard(shards, path) : leat_error_oom(shards->err);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return r;
}

size_t leat_cache_shards_count(const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_shard_name, NULL);

    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
    return n > 0 ? (size_t)n : 0;
}

static int add_path(struct leat_cache_shards *shards, const char *path) {
    struct stat info;

    if (leat_elsewhere_is_object(path))
        return add_objects(shards, path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return add_folder(shards, path);
    return add_shard(shards, path);
}

static int by_shard(const void *a, const void *b) {
    uint32_t x = ((const struct leat_cache_shard_file *)a)->file->identity.shard;
    uint32_t y = ((const struct leat_cache_shard_file *)b)->file->identity.shard;

    return (x > y) - (x < y);
}

/* Each of them once. */
static int check_all(const struct leat_cache_shards *shards) {
    uint32_t n = shards->n_items > 0 ? shards->items[0].file->identity.n_shards : 0;

    if (n == 0)
        return leat_error_set(shards->err, shards->code,
                              "the folder has no shards (KEY-I-of-N.leat): make them with `leatctl "
                              "prepare FILE --shard I/N -o DIR`");
    for (size_t i = 0; i < shards->n_items; i++) {
        const struct leat_cache_shard_file *shard = &shards->items[i];

        if (shard->file->identity.n_shards != n)
            return leat_error_set(shards->err, shards->code,
                                  "%s: this shard belongs to a set of %u, but %s belongs to a set "
                                  "of %u: remove the shards of one of the two sets",
                                  shard->path, shard->file->identity.n_shards,
                                  shards->items[0].path, n);
        if (i > 0 && shard->file->identity.shard == shard[-1].file->identity.shard)
            return leat_error_set(shards->err, shards->code,
                                  "%s: this is the same shard as %s: remove one of the two files",
                                  shard->path, shard[-1].path);
    }
    for (uint32_t i = 0; i < n; i++)
        if (i >= shards->n_items || shards->items[i].file->identity.shard != i)
            return leat_error_set(shards->err, shards->code,
                                  "shard %u/%u is missing: make it with `leatctl prepare %.200s "
                                  "--shard %u/%u -o DIR`",
                                  i, n, shards->spec_file, i, n);
    return 0;
}

int leat_cache_shards_open(struct leat_cache_shards *shards, const struct leat_plan *plan,
                           const struct leat_opener *opener, const char *const *paths,
                           size_t n_paths, int code, struct leat_error *err) {
    int r;

    *shards = (struct leat_cache_shards){
        .spec_file = plan->spec->file ? plan->spec->file : "FILE", .code = code, .err = err};
    r = leat_cache_key(plan, opener, &shards->data, &shards->identity, err);
    for (size_t i = 0; r == 0 && i < n_paths; i++)
        r = add_path(shards, paths[i]);
    if (r == 0 && shards->n_items > 0)
        qsort(shards->items, shards->n_items, sizeof(*shards->items), by_shard);
    return r < 0 ? r : check_all(shards);
}

void leat_cache_shards_deinit(struct leat_cache_shards *shards) {
    for (size_t i = 0; i < shards->n_items; i++) {
        free(shards->items[i].path);
        leat_cache_file_unref(shards->items[i].file);
    }
    free(shards->items);
    leat_data_unref(shards->data);
}
