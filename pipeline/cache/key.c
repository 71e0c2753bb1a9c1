/* cache/key.c: see cache/key.h. What the bytes of files are is found out by data_digest.h. */
#include "pipeline/cache/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/text.h"

#define DESCRIBED_PATHS  16 /* the others are counted */
#define DESCRIPTION_ROOM (48U << 10)

void leat_cache_data_deinit(struct leat_cache_data *data) {
    free(data->sources);
    *data = (struct leat_cache_data){.sources = NULL};
}

/* ---- files ---- */

static int look(const struct leat_opener *opener, const char *path, int *ret_fd,
                struct leat_data_identity *ret_source, struct leat_error *err) {
    struct leat_error failure = LEAT_ERROR_INIT;
    int r = leat_data_open(opener, path, ret_fd, ret_source, &failure);

    if (r == -EINVAL)
        return leat_error_set(err, -EINVAL, "%s: only what is in regular files can be cached",
                              path);
    if (r < 0)
        *err = failure;
    return r;
}

static int look_at_all(const struct leat_files *files, const struct leat_opener *opener,
                       struct leat_data_identity *ret_sources, struct leat_error *err) {
    for (size_t i = 0; i < files->n_paths; i++) {
        int fd, r = look(opener, files->paths[i], &fd, &ret_sources[i], err);

        if (r < 0)
            return r;
        (void)close(fd);
    }
    return 0;
}

static int digest_file(const struct leat_plan *plan, const struct leat_opener *opener, size_t file,
                       struct leat_cache_data *data, struct leat_blake2b *state,
                       struct leat_error *err) {
    bool is_full = plan->options.cache.verify == LEAT_CACHE_VERIFY_FULL;
    const char *path = plan->source->files.paths[file];
    struct leat_data_hash hash;
    int fd, r = look(opener, path, &fd, &data->sources[file], err);

    if (r < 0)
        return r;
    r = leat_data_hash(fd, path, data->sources[file].n_bytes, is_full, &hash, err);
    (void)close(fd);
    if (r < 0)
        return r;
    leat_blake2b_u64(state, data->sources[file].n_bytes);
    leat_blake2b_update(state, hash.digest, sizeof(hash.digest));
    data->n_bytes += data->sources[file].n_bytes;
    return 0;
}

/* Looks at every byte that counts. */
static int read_data(const struct leat_plan *plan, const struct leat_opener *opener,
                     struct leat_cache_data *data, struct leat_error *err) {
    bool is_full = plan->options.cache.verify == LEAT_CACHE_VERIFY_FULL;
    size_t n = plan->source->files.n_paths;
    struct leat_blake2b state;
    int r = 0;

    leat_cache_data_deinit(data);
    data->sources = calloc(n ? n : 1, sizeof(*data->sources));
    if (!data->sources)
        return leat_error_oom(err);
    data->n_sources = n;
    leat_blake2b_init(&state);
    leat_blake2b_text(&state, is_full ? "leat data, all bytes" : "leat data, samples");
    leat_blake2b_u64(&state, n);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = digest_file(plan, opener, i, data, &state, err);
    leat_blake2b_final(&state, data->digest);
    if (r < 0)
        leat_cache_data_deinit(data);
    return r;
}

/* Whether all of the files are as they were; what no clock and no user can set back tells it. */
static int is_untouched(const struct leat_plan *plan, const struct leat_opener *opener,
                        const struct leat_cache_data *data, bool *ret_is, struct leat_error *err) {
    size_t n = plan->source->files.n_paths;
    struct leat_data_identity *sources;
    int r;

    *ret_is = false;
    if (!data->sources || data->n_sources != n)
        return 0;
    sources = calloc(n ? n : 1, sizeof(*sources));
    if (!sources)
        return leat_error_oom(err);
    r = look_at_all(&plan->source->files, opener, sources, err);
    *ret_is = r == 0 && memcmp(sources, data->sources, n * sizeof(*sources)) == 0;
    free(sources);
    return r;
}

static void make_key(const struct leat_cache_data *data, struct leat_cache_identity *identity) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat cache 1");
    leat_blake2b_update(&state, identity->spec, sizeof(identity->spec));
    leat_blake2b_update(&state, identity->data, sizeof(identity->data));
    for (size_t i = 0; i < data->n_sources; i++) {
        leat_blake2b_u64(&state, data->sources[i].inode);
        leat_blake2b_u64(&state, (uint64_t)data->sources[i].modified_ns);
    }
    leat_blake2b_final(&state, identity->key);
}

int leat_cache_key(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct leat_cache_data *data, struct leat_cache_identity *ret_identity,
                   struct leat_error *err) {
    bool is_known;
    int r;

    r = is_untouched(plan, opener, data, &is_known, err);
    if (r == 0 && !is_known)
        r = read_data(plan, opener, data, err);
    if (r < 0)
        return r;
    *ret_identity = (struct leat_cache_identity){.n_shards = 1};
    memcpy(ret_identity->spec, plan->record_digest, sizeof(ret_identity->spec));
    memcpy(ret_identity->data, data->digest, sizeof(ret_identity->data));
    make_key(data, ret_identity);
    return 0;
}

int leat_cache_check_source(const struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_cache_data *data, size_t file,
                            struct leat_error *err) {
    const char *path = plan->source->files.paths[file];
    struct leat_data_identity source;
    int fd = -1, r = look(opener, path, &fd, &source, err);

    if (r < 0)
        return r;
    (void)close(fd);
    if (memcmp(&source, &data->sources[file], sizeof(source)) != 0)
        return leat_error_set(err, -ESTALE, "%s: changed while it was cached", path);
    return 0;
}

char *leat_cache_describe(const struct leat_plan *plan) {
    const struct leat_files *files = &plan->source->files;
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "{\"stream\": ");
    leat_text_add_json(&text, plan->spec->name, strlen(plan->spec->name));
    leat_text_add(&text, ", \"source\": \"%s\", \"n_files\": %zu, \"files\": [",
                  plan->source_ops->name, files->n_paths);
    for (size_t i = 0; i < files->n_paths && i < DESCRIBED_PATHS && text.n_bytes < DESCRIPTION_ROOM;
         i++) {
        leat_text_add(&text, "%s", i ? ", " : "");
        leat_text_add_json(&text, files->paths[i], strlen(files->paths[i]));
    }
    leat_text_add(&text, "]}");
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}
