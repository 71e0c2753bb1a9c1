/* cache_key.c: see cache_key.h. Bytes are hashed with XXH3 (128 bits), what comes of it with
 * BLAKE2b. */
#include "pipeline/cache/cache_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "pipeline/render.h"

#define END_BYTES        (64U << 10) /* of head and tail */
#define N_SAMPLES        14          /* between them, */
#define SAMPLE_BYTES     (4U << 10)  /* of so many bytes */
#define CHUNK_BYTES      (1U << 20)  /* at a time */
#define DESCRIBED_PATHS  16          /* the others are counted */
#define DESCRIPTION_ROOM (48U << 10)

void leat_cache_data_deinit(struct leat_cache_data *data) {
    free(data->sources);
    *data = (struct leat_cache_data){.sources = NULL};
}

/* ---- bytes ---- */

struct reading {
    int fd;
    const char *path;
    XXH3_state_t *hash;
    uint8_t *chunk;
    struct leat_error *err;
};

/* Hashes n_bytes from there on, or as far as the file goes. */
static int hash_range(struct reading *reading, uint64_t offset, uint64_t n_bytes) {
    while (n_bytes > 0) {
        size_t n_wanted = n_bytes < CHUNK_BYTES ? (size_t)n_bytes : CHUNK_BYTES;
        ssize_t n = pread(reading->fd, reading->chunk, n_wanted, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_error_set(reading->err, -errno, "%s: cannot read: %s", reading->path,
                                  strerror(errno));
        if (n == 0)
            return 0;
        (void)XXH3_128bits_update(reading->hash, reading->chunk, (size_t)n);
        offset += (uint64_t)n;
        n_bytes -= (uint64_t)n;
    }
    return 0;
}

static int hash_samples(struct reading *reading, uint64_t n_bytes) {
    int r = hash_range(reading, 0, END_BYTES);

    for (uint64_t i = 1; r == 0 && i <= N_SAMPLES; i++)
        r = hash_range(reading, n_bytes / (N_SAMPLES + 1) * i, SAMPLE_BYTES);
    return r < 0 ? r : hash_range(reading, n_bytes - END_BYTES, END_BYTES);
}

static int hash_file(struct reading *reading, uint64_t n_bytes, bool is_full,
                     struct leat_blake2b *state) {
    XXH128_canonical_t canonical;
    int r;

    (void)XXH3_128bits_reset(reading->hash);
    if (is_full || n_bytes <= 4 * END_BYTES)
        r = hash_range(reading, 0, n_bytes);
    else
        r = hash_samples(reading, n_bytes);
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(reading->hash));
    leat_blake2b_u64(state, n_bytes);
    leat_blake2b_update(state, canonical.digest, sizeof(canonical.digest));
    return r;
}

/* ---- files ---- */

static int64_t nanoseconds(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int look(const struct leat_opener *opener, const char *path, int *ret_fd,
                struct leat_cache_source *ret_source, struct leat_error *err) {
    struct stat info;
    int fd = opener->open_file(opener, path, err);

    if (fd < 0)
        return fd;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        (void)close(fd);
        return leat_error_set(err, -EINVAL, "%s: only what is in regular files can be cached",
                              path);
    }
    *ret_source = (struct leat_cache_source){.device = info.st_dev,
                                             .inode = info.st_ino,
                                             .n_bytes = (uint64_t)info.st_size,
                                             .modified_ns = nanoseconds(info.st_mtim),
                                             .changed_ns = nanoseconds(info.st_ctim)};
    *ret_fd = fd;
    return 0;
}

static int look_at_all(const struct leat_files *files, const struct leat_opener *opener,
                       struct leat_cache_source *ret_sources, struct leat_error *err) {
    for (size_t i = 0; i < files->n_paths; i++) {
        int fd, r = look(opener, files->paths[i], &fd, &ret_sources[i], err);

        if (r < 0)
            return r;
        (void)close(fd);
    }
    return 0;
}

static int digest_data(const struct leat_plan *plan, const struct leat_opener *opener,
                       struct leat_cache_data *data, struct reading *reading) {
    const struct leat_files *files = &plan->source->files;
    bool is_full = plan->options.cache.verify == LEAT_CACHE_VERIFY_FULL;
    struct leat_blake2b state;
    int r = 0;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, is_full ? "leat data, all bytes" : "leat data, samples");
    leat_blake2b_u64(&state, files->n_paths);
    data->n_bytes = 0;
    for (size_t i = 0; r == 0 && i < files->n_paths; i++) {
        reading->path = files->paths[i];
        r = look(opener, reading->path, &reading->fd, &data->sources[i], reading->err);
        if (r < 0)
            return r;
        r = hash_file(reading, data->sources[i].n_bytes, is_full, &state);
        data->n_bytes += data->sources[i].n_bytes;
        (void)close(reading->fd);
    }
    leat_blake2b_final(&state, data->digest);
    return r;
}

/* Looks at every byte that counts. */
static int read_data(const struct leat_plan *plan, const struct leat_opener *opener,
                     struct leat_cache_data *data, struct leat_error *err) {
    struct reading reading = {.hash = XXH3_createState(), .chunk = malloc(CHUNK_BYTES), .err = err};
    size_t n = plan->source->files.n_paths;
    int r;

    leat_cache_data_deinit(data);
    data->sources = calloc(n ? n : 1, sizeof(*data->sources));
    data->n_sources = n;
    if (reading.hash && reading.chunk && data->sources)
        r = digest_data(plan, opener, data, &reading);
    else
        r = leat_error_oom(err);
    (void)XXH3_freeState(reading.hash);
    free(reading.chunk);
    if (r < 0)
        leat_cache_data_deinit(data);
    return r;
}

/* Whether all of the files are as they were; what no clock and no user can set back tells it. */
static int is_untouched(const struct leat_plan *plan, const struct leat_opener *opener,
                        const struct leat_cache_data *data, bool *ret_is, struct leat_error *err) {
    size_t n = plan->source->files.n_paths;
    struct leat_cache_source *sources;
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
    struct leat_cache_source source;
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
