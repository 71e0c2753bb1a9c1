#include "pipeline/cache/sealed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/shard.h"
#include "pipeline/cache/shards.h"
#include "proto/base/elsewhere.h"
#include "proto/base/text.h"

#define OBJECTS_AHEAD 16 /* that are opened at a time */

_Static_assert(LEAT_SET_CHECKSUM_BYTES == LEAT_CACHE_CHECKSUM_BYTES, "the same checksums");

static const char *file_of(const struct leat_plan *plan) {
    return plan->spec->file ? plan->spec->file : "FILE";
}

/* ---- sealing ---- */

static int take_heads(const struct leat_plan *plan, const struct leat_opener *opener,
                      struct leat_set *set, struct leat_error *err) {
    int r = 0;

    set->heads = calloc(plan->n_sources, sizeof(*set->heads));
    if (!set->heads)
        return leat_error_oom(err);
    set->n_heads = plan->n_sources;
    for (size_t i = 0; r == 0 && i < plan->n_sources; i++) {
        const struct leat_plan_source *source = &plan->sources[i];

        set->heads[i] = (struct leat_set_head){.n_files = source->config->files.n_paths,
                                               .record_bytes = source->record_bytes};
        r = leat_plan_read_head(plan, source, opener, &set->heads[i].bytes, &set->heads[i].n_bytes,
                                err);
    }
    return r;
}

static int take_files(const struct leat_plan *plan, struct leat_set *set, struct leat_error *err) {
    const struct leat_data *data = plan->data;

    set->is_full = data->is_full;
    set->files = calloc(data->n_files, sizeof(*set->files));
    if (!set->files)
        return leat_error_oom(err);
    set->n_files = data->n_files;
    for (size_t i = 0; i < data->n_files; i++) {
        set->files[i].n_bytes = data->states[i].n_bytes;
        memcpy(set->files[i].digest, data->digests[i], sizeof(set->files[i].digest));
        set->files[i].name = strdup(plan->source->files.names[i]);
        if (!set->files[i].name)
            return leat_error_oom(err);
    }
    return 0;
}

static int take_shard(const struct leat_cache_shard_file *item, struct leat_set *set,
                      struct leat_set_shard *shard, struct leat_error *err) {
    const struct leat_cache_file *file = item->file;
    const char *slash = strrchr(item->path, '/');
    char name[LEAT_CACHE_NAME_MAX];

    leat_cache_store_name(&file->identity, name);
    if (strcmp(slash ? slash + 1 : item->path, name) != 0)
        return leat_error_set(err, -ESTALE, "%s: the file must be named %s", item->path, name);
    *shard = (struct leat_set_shard){
        .n_records = file->n_records,
        .n_rows = file->n_rows,
        .n_blocks = file->n_frames,
        .checksums = malloc(file->n_frames * LEAT_SET_CHECKSUM_BYTES + 1),
    };
    if (!shard->checksums)
        return leat_error_oom(err);
    for (size_t i = 0; i < file->n_frames; i++)
        memcpy(shard->checksums + i * LEAT_SET_CHECKSUM_BYTES, file->frames[i].checksum,
               LEAT_SET_CHECKSUM_BYTES);
    set->n_records += shard->n_records;
    set->n_rows += shard->n_rows;
    return 0;
}

static int take_shards(const struct leat_cache_shards *shards, struct leat_set *set,
                       struct leat_error *err) {
    int r = 0;

    memcpy(set->spec, shards->identity.spec, sizeof(set->spec));
    memcpy(set->data, shards->identity.data, sizeof(set->data));
    set->shards = calloc(shards->n_items, sizeof(*set->shards));
    if (!set->shards)
        return leat_error_oom(err);
    set->n_shards = shards->n_items;
    for (size_t i = 0; r == 0 && i < shards->n_items; i++)
        r = take_shard(&shards->items[i], set, &set->shards[i], err);
    return r;
}

/* As an object, it is replaced. */
static int store_text(const char *path, const struct leat_text *text, struct leat_error *err) {
    int fd = memfd_create("leat-set", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : leat_file_write(fd, text->data, text->n_bytes, 0);

    if (r < 0)
        leat_error_set(err, r, "%s: cannot write: %s", path, strerror(-r));
    else
        r = leat_object_store(fd, path, false, err);
    leat_file_close(&fd);
    return r;
}

/* The name appears with its whole contents. */
static int write_text(const char *folder, const struct leat_text *text, struct leat_error *err) {
    char *path = leat_files_join(folder, LEAT_SET_NAME), *temporary = NULL;
    int fd, r = 0;

    if (path && leat_elsewhere_is_object(path)) {
        r = store_text(path, text, err);
        free(path);
        return r;
    }
    if (!path || asprintf(&temporary, "%s.XXXXXX", path) < 0) {
        free(path);
        return leat_error_oom(err);
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    r = fd < 0 ? -errno : leat_file_write(fd, text->data, text->n_bytes, 0);
    if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(temporary, path) < 0))
        r = -errno;
    if (fd >= 0 && r < 0)
        (void)unlink(temporary);
    if (fd >= 0)
        (void)close(fd);
    if (r < 0)
        leat_error_set(err, r, "%s: cannot write: %s", path, strerror(-r));
    free(temporary);
    free(path);
    return r;
}

static int is_temporary(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);

    return n > 4 && strcmp(entry->d_name + n - 4, ".tmp") == 0 && strstr(entry->d_name, "-of-");
}

static void remove_temporaries(const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_temporary, NULL);

    for (int i = 0; i < n; i++) {
        char *path = leat_files_join(folder, entries[i]->d_name);

        if (path)
            (void)unlink(path);
        free(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static int write_set(const struct leat_set *set, const char *folder, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    int r = leat_set_write(set, &text) ? 0 : leat_error_oom(err);

    if (r == 0 && text.n_bytes > LEAT_SET_BYTES_MAX)
        r = leat_error_set(
            err, -E2BIG,
            "%s: the set has so many blocks that its " LEAT_SET_NAME
            " would have more than %u bytes: raise block_bytes, and prepare the set again",
            folder, LEAT_SET_BYTES_MAX);
    if (r == 0)
        r = write_text(folder, &text, err);
    free(text.data);
    return r;
}

int leat_sealed_write(const struct leat_plan *plan, const struct leat_opener *opener,
                      const char *folder, struct leat_sealed_counts *ret_counts,
                      struct leat_error *err) {
    struct leat_set *set = calloc(1, sizeof(*set));
    struct leat_cache_shards shards;
    int r = set ? leat_cache_shards_open(&shards, plan, opener, &folder, 1, -ESTALE, err)
                : leat_error_oom(err);

    if (!set)
        return r;
    if (r == 0)
        r = take_shards(&shards, set, err);
    if (r == 0)
        r = take_files(plan, set, err);
    if (r == 0)
        r = take_heads(plan, opener, set, err);
    if (r == 0)
        r = write_set(set, folder, err);
    if (r == 0)
        remove_temporaries(folder);
    *ret_counts = (struct leat_sealed_counts){
        .n_shards = set->n_shards, .n_records = set->n_records, .n_rows = set->n_rows};
    for (size_t i = 0; r == 0 && i < shards.n_items; i++) {
        ret_counts->n_blocks += shards.items[i].file->n_frames;
        ret_counts->n_bytes += shards.items[i].file->end;
    }
    leat_cache_shards_deinit(&shards);
    leat_set_free(set);
    return r;
}

/* ---- reading ---- */

static void identify(const struct leat_set *set, uint32_t shard,
                     struct leat_cache_identity *ret_identity) {
    memcpy(ret_identity->spec, set->spec, sizeof(set->spec));
    memcpy(ret_identity->data, set->data, sizeof(set->data));
    leat_cache_shard_identify(shard, (uint32_t)set->n_shards, ret_identity);
}

static char *path_of(const struct leat_set *set, uint32_t shard) {
    struct leat_cache_identity identity;
    char name[LEAT_CACHE_NAME_MAX];

    identify(set, shard, &identity);
    leat_cache_store_name(&identity, name);
    return leat_files_join(set->folder, name);
}

bool leat_sealed_is_remote(const struct leat_plan *plan) {
    return plan->set && leat_elsewhere_is_object(plan->set->folder);
}

void leat_sealed_name_shard(const struct leat_plan *plan, uint64_t record, struct leat_error *err) {
    uint64_t end = 0;
    uint32_t shard = 0;
    char *path;

    while (shard < plan->set->n_shards && record >= (end += plan->set->shards[shard].n_records))
        shard++;
    path = path_of(plan->set, shard);
    if (path) {
        struct leat_error own = *err;

        *err = LEAT_ERROR_INIT;
        leat_error_set(err, own.code, "%.300s: %.300s", path, own.message);
    }
    free(path);
}

static bool has_blocks(const struct leat_cache_file *file, const struct leat_set_shard *shard) {
    if (file->n_frames != shard->n_blocks || file->n_records != shard->n_records ||
        file->n_rows != shard->n_rows)
        return false;
    for (size_t i = 0; i < file->n_frames; i++)
        if (memcmp(file->frames[i].checksum, shard->checksums + i * LEAT_SET_CHECKSUM_BYTES,
                   LEAT_SET_CHECKSUM_BYTES) != 0)
            return false;
    return true;
}

static int open_path(const struct leat_opener *opener, const char *path,
                     struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_object *object = NULL;
    int r;

    if (!leat_elsewhere_is_object(path)) {
        r = opener->open_file(opener, path, err);
        return r < 0 ? r : leat_cache_file_open(r, ret_file, err);
    }
    r = leat_object_open(opener, path, &object, err);
    return r < 0 ? r : leat_cache_file_open_object(object, 0, ret_file, err);
}

/* take_object NULL: it is not open yet. */
static int open_shard(const struct leat_plan *plan, const struct leat_opener *opener, uint32_t i,
                      const char *path, struct leat_object *take_object,
                      struct leat_cache_file *whole, struct leat_error *err) {
    const struct leat_set *set = plan->set;
    struct leat_error own = LEAT_ERROR_INIT;
    struct leat_cache_identity identity;
    struct leat_cache_file *file = NULL;
    int r = take_object
                ? leat_cache_file_open_object(take_object, set->shards[i].n_blocks, &file, &own)
                : open_path(opener, path, &file, &own);

    identify(set, i, &identity);
    if (r == -ENOENT)
        return leat_error_set(err, -ESTALE,
                              "%.300s: shard %u/%zu is missing: make it with `leatctl prepare "
                              "%.200s --shard %u/%zu -o DIR`",
                              path, i, set->n_shards, file_of(plan), i, set->n_shards);
    if (r == -EBADMSG || (r == 0 && (memcmp(&file->identity, &identity, sizeof(identity)) != 0 ||
                                     !has_blocks(file, &set->shards[i])))) {
        leat_cache_file_unref(file);
        return leat_error_set(
            err, -ESTALE,
            "%.300s: this file is not the sealed shard: remove the file, and make the shard again "
            "with `leatctl prepare %.200s --shard %u/%zu -o DIR`",
            path, file_of(plan), i, set->n_shards);
    }
    if (r < 0)
        return leat_error_set(err, r, "%.300s: %.300s", path, own.message);
    return leat_cache_file_add_part(whole, file, err);
}

/* ---- in a store ---- */

/* Tells leat-fetch which objects there are and how they follow each other, so that it need not ask
 * for each of them, and reads ahead from one to the next. It goes without, if it may not list. */
static int expect_objects(const struct leat_plan *plan, const struct leat_opener *opener,
                          char *const *paths, struct leat_error *err) {
    char *prefix = leat_files_join(plan->set->folder, "x"), *listed = NULL;
    struct leat_text urls = {.data = NULL};
    size_t n;
    int r;

    if (!prefix)
        return leat_error_oom(err);
    prefix[strlen(prefix) - 1] = '\0';
    (void)leat_object_list(opener, prefix, &listed, &n, LEAT_ERROR_IGNORED);
    for (size_t i = 0; i < plan->set->n_shards; i++)
        leat_text_add_bytes(&urls, paths[i], strlen(paths[i]) + 1);
    r = urls.failed ? leat_error_oom(err) : 0;
    if (r == 0) /* an object that is missing is named when it is opened */
        (void)leat_object_expect(opener, urls.data, urls.n_bytes, LEAT_ERROR_IGNORED);
    free(urls.data);
    free(listed);
    free(prefix);
    return r;
}

/* Opens it, unless it is missing, and begins to read its ends. */
static struct leat_object *begin_object(const struct leat_plan *plan,
                                        const struct leat_opener *opener, char *const *paths,
                                        size_t i) {
    struct leat_object *object = NULL;

    if (i >= plan->set->n_shards ||
        leat_object_open(opener, paths[i], &object, LEAT_ERROR_IGNORED) < 0)
        return NULL;
    leat_cache_file_read_ahead(object, plan->set->shards[i].n_blocks);
    return object;
}

static int open_objects(const struct leat_plan *plan, const struct leat_opener *opener,
                        char *const *paths, struct leat_cache_file *whole, struct leat_error *err) {
    struct leat_object *begun[OBJECTS_AHEAD] = {NULL};
    int r = expect_objects(plan, opener, paths, err);

    for (size_t i = 0; r == 0 && i < OBJECTS_AHEAD; i++)
        begun[i] = begin_object(plan, opener, paths, i);
    for (uint32_t i = 0; r == 0 && i < plan->set->n_shards; i++) {
        struct leat_object **at = &begun[i % OBJECTS_AHEAD], *object = *at;

        *at = begin_object(plan, opener, paths, i + OBJECTS_AHEAD);
        r = open_shard(plan, opener, i, paths[i], object, whole, err);
    }
    for (size_t i = 0; i < OBJECTS_AHEAD; i++)
        leat_object_close(begun[i]);
    return r;
}

/* ---- all of it ---- */

static char **make_paths(const struct leat_set *set) {
    char **paths = calloc(set->n_shards, sizeof(*paths));

    for (uint32_t i = 0; paths && i < set->n_shards; i++) {
        paths[i] = path_of(set, i);
        if (paths[i])
            continue;
        while (i-- > 0)
            free(paths[i]);
        free(paths);
        return NULL;
    }
    return paths;
}

int leat_sealed_open(const struct leat_plan *plan, const struct leat_opener *opener,
                     const struct leat_cache_identity *identity, struct leat_cache_file **ret_file,
                     struct leat_error *err) {
    struct leat_cache_file *whole = leat_cache_file_new_whole(identity);
    char **paths = make_paths(plan->set);
    int r = whole && paths ? 0 : leat_error_oom(err);

    if (r == 0 && leat_sealed_is_remote(plan))
        r = open_objects(plan, opener, paths, whole, err);
    else
        for (uint32_t i = 0; r == 0 && i < plan->set->n_shards; i++)
            r = open_shard(plan, opener, i, paths[i], NULL, whole, err);
    for (uint32_t i = 0; paths && i < plan->set->n_shards; i++)
        free(paths[i]);
    free(paths);
    if (r < 0)
        leat_cache_file_unref(whole);
    else
        *ret_file = whole;
    return r;
}
