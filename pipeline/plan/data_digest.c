#include "pipeline/plan/data_digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/io/object.h"
#include "proto/base/elsewhere.h"
#include "proto/base/xxh3.h"

#define END_BYTES    (64U << 10)  /* of head and tail */
#define SAMPLE_BYTES (4U << 10)   /* of each of those between them */
#define CHUNK_BYTES  (256U << 10) /* at a time: a small file, of which all bytes count, is one */

/* ---- a file ---- */

struct leat_data_range leat_data_range(uint64_t n_bytes, bool is_full, size_t index) {
    uint64_t part = n_bytes / LEAT_DATA_RANGES + 1, offset = index * part;

    if (is_full || n_bytes <= CHUNK_BYTES) {
        if (offset >= n_bytes)
            return (struct leat_data_range){n_bytes, 0};
        return (struct leat_data_range){offset, n_bytes - offset < part ? n_bytes - offset : part};
    }
    if (index == 0)
        return (struct leat_data_range){0, END_BYTES};
    if (index == LEAT_DATA_RANGES - 1)
        return (struct leat_data_range){n_bytes - END_BYTES, END_BYTES};
    return (struct leat_data_range){
        END_BYTES + (n_bytes - 2 * END_BYTES) / (LEAT_DATA_RANGES - 1) * index, SAMPLE_BYTES};
}

struct reading {
    int fd;
    const char *path;
    XXH3_state_t *hash;
    uint8_t *chunk;
    struct leat_error *err;
};

/* Bytes that were read: fewer than wanted only at the end of the file. */
static ssize_t read_chunk(const struct reading *reading, size_t n_wanted, uint64_t offset) {
    ssize_t n = leat_file_read(reading->fd, reading->chunk, n_wanted, offset);

    return n < 0 ? leat_error_set(reading->err, (int)n, "%s: cannot read the file: %s",
                                  reading->path, strerror((int)-n))
                 : n;
}

static int hash_range(const struct reading *reading, struct leat_data_range range,
                      XXH128_hash_t *ret_hash) {
    (void)XXH3_128bits_reset(reading->hash);
    while (range.n_bytes > 0) {
        size_t n_wanted = range.n_bytes < CHUNK_BYTES ? (size_t)range.n_bytes : CHUNK_BYTES;
        ssize_t n = read_chunk(reading, n_wanted, range.offset);

        if (n < 0)
            return (int)n;
        if (n == 0)
            break;
        (void)XXH3_128bits_update(reading->hash, reading->chunk, (size_t)n);
        range.offset += (uint64_t)n;
        range.n_bytes -= (uint64_t)n;
    }
    *ret_hash = XXH3_128bits_digest(reading->hash);
    return 0;
}

/* The whole file is in the chunk, or its first n_there bytes, if it has become shorter. */
static XXH128_hash_t hash_part(const struct reading *reading, struct leat_data_range range,
                               size_t n_there) {
    size_t offset = range.offset < n_there ? (size_t)range.offset : n_there;
    size_t n = range.n_bytes < n_there - offset ? (size_t)range.n_bytes : n_there - offset;

    return XXH3_128bits(reading->chunk + offset, n);
}

static int hash_ranges(const struct reading *reading, uint64_t n_bytes, bool is_full,
                       struct leat_data_hash *hash) {
    bool is_small = n_bytes <= CHUNK_BYTES;
    ssize_t n_there = is_small ? read_chunk(reading, (size_t)n_bytes, 0) : 0;
    XXH128_canonical_t canonical[LEAT_DATA_RANGES], all;

    if (n_there < 0)
        return (int)n_there;
    for (size_t i = 0; i < LEAT_DATA_RANGES; i++) {
        struct leat_data_range range = leat_data_range(n_bytes, is_full, i);
        XXH128_hash_t value;
        int r = 0;

        if (is_small)
            value = hash_part(reading, range, (size_t)n_there);
        else
            r = hash_range(reading, range, &value);
        if (r < 0)
            return r;
        hash->ranges[i] = value.low64;
        XXH128_canonicalFromHash(&canonical[i], value);
    }
    XXH128_canonicalFromHash(&all, XXH3_128bits(canonical, sizeof(canonical)));
    memcpy(hash->digest, all.digest, sizeof(hash->digest));
    return 0;
}

static void hash_object(const struct leat_file_state *state, struct leat_data_hash *hash) {
    memcpy(hash->digest, &state->inode, sizeof(state->inode));
    memcpy(hash->digest + sizeof(state->inode), &state->modified_ns, sizeof(state->modified_ns));
    for (size_t i = 0; i < LEAT_DATA_RANGES; i++)
        hash->ranges[i] = state->inode;
}

int leat_data_hash(const struct leat_data_file *file, const char *path, uint64_t n_bytes,
                   bool is_full, struct leat_data_hash *ret_hash, struct leat_error *err) {
    bool is_small = n_bytes <= CHUNK_BYTES;
    struct reading reading = {.fd = file->fd,
                              .path = path,
                              .hash = is_small ? NULL : XXH3_createState(),
                              .chunk = malloc(is_small ? (size_t)n_bytes + 1 : CHUNK_BYTES),
                              .err = err};
    int r = reading.chunk && (is_small || reading.hash) ? 0 : leat_error_oom(err);

    if (r == 0 && file->fd < 0)
        hash_object(&file->state, ret_hash);
    else if (r == 0)
        r = hash_ranges(&reading, n_bytes, is_full, ret_hash);

    (void)XXH3_freeState(reading.hash);
    free(reading.chunk);
    return r;
}

int leat_data_open(const struct leat_opener *opener, const char *path,
                   struct leat_data_file *ret_file, struct leat_error *err) {
    int r;

    *ret_file = (struct leat_data_file){.fd = -1};
    if (leat_elsewhere_is_object(path))
        return leat_object_look(opener, path, &ret_file->state, err);
    ret_file->fd = opener->open_file(opener, path, err);
    r = ret_file->fd < 0 ? ret_file->fd : leat_file_stat(ret_file->fd, &ret_file->state);
    if (ret_file->fd >= 0 && r != 0) {
        leat_data_close(ret_file);
        r = leat_error_set(err, -EINVAL, "%s: this is not a regular file", path);
    }
    return r;
}

void leat_data_close(struct leat_data_file *file) {
    leat_file_close(&file->fd);
}

int leat_data_look(const struct leat_opener *opener, const char *path,
                   struct leat_file_state *ret_state, struct leat_error *err) {
    struct leat_data_file file;
    int r = leat_data_open(opener, path, &file, err);

    *ret_state = file.state;
    leat_data_close(&file);
    return r;
}

struct leat_data_range leat_data_difference(const uint64_t old[LEAT_DATA_RANGES],
                                            const uint64_t new[LEAT_DATA_RANGES], uint64_t n_bytes,
                                            bool is_full) {
    struct leat_data_range difference = {0, 0};

    for (size_t i = 0; i < LEAT_DATA_RANGES; i++) {
        struct leat_data_range range = leat_data_range(n_bytes, is_full, i);

        if (old[i] == new[i])
            continue;
        if (difference.n_bytes == 0)
            difference.offset = range.offset;
        difference.n_bytes = range.offset + range.n_bytes - difference.offset;
    }
    return difference;
}

/* ---- all of them ---- */

struct leat_data *leat_data_ref(struct leat_data *data) {
    if (data)
        data->n_refs++;
    return data;
}

struct leat_data *leat_data_unref(struct leat_data *data) {
    if (!data || --data->n_refs > 0)
        return NULL;
    free(data->states);
    free(data->digests);
    free(data->ranges);
    free(data);
    return NULL;
}

struct leat_data *leat_data_alloc(size_t n_files, bool is_full) {
    size_t n_detailed = n_files < LEAT_DATA_DETAILED ? n_files : LEAT_DATA_DETAILED;
    struct leat_data *data = calloc(1, sizeof(*data));

    if (!data)
        return NULL;
    *data = (struct leat_data){
        .n_refs = 1,
        .is_full = is_full,
        .n_files = n_files,
        .n_detailed = n_detailed,
        .states = calloc(n_files + 1, sizeof(*data->states)),
        .digests = calloc(n_files + 1, sizeof(*data->digests)),
        .ranges = calloc(n_detailed + 1, sizeof(*data->ranges)),
    };
    return data->states && data->digests && data->ranges ? data : leat_data_unref(data);
}

struct leat_data *leat_data_copy(const struct leat_data *data) {
    struct leat_data *copy = leat_data_alloc(data->n_files, data->is_full);

    if (!copy)
        return NULL;
    memcpy(copy->states, data->states, data->n_files * sizeof(*data->states));
    memcpy(copy->digests, data->digests, data->n_files * sizeof(*data->digests));
    memcpy(copy->ranges, data->ranges, data->n_detailed * sizeof(*data->ranges));
    copy->n_bytes = data->n_bytes;
    memcpy(copy->digest, data->digest, sizeof(copy->digest));
    return copy;
}

static bool is_known(const struct leat_data *data, const struct leat_data *known, size_t file) {
    struct leat_file_state state;

    if (!known || known->is_full != data->is_full || file >= known->n_files ||
        (file >= known->n_detailed && file < data->n_detailed))
        return false;
    state = known->states[file];
    state.device = data->states[file].device;
    return memcmp(&state, &data->states[file], sizeof(state)) == 0;
}

/* Bytes that hashing a file of that size reads. */
static uint64_t n_hashed(uint64_t n_bytes, bool is_full) {
    uint64_t n = 0;

    for (size_t i = 0; i < LEAT_DATA_RANGES; i++)
        n += leat_data_range(n_bytes, is_full, i).n_bytes;
    return n;
}

/* Without `must_read`, whoever comes to a file that cannot be read tells why. Memory or descriptors
 * that ran out say nothing of the file. */
static int look_at_file(const struct leat_data_scope *scope, const struct leat_opener *opener,
                        const struct leat_data *known, size_t file, struct leat_data *data,
                        struct leat_error *err) {
    const char *path = scope->files->paths[file];
    struct leat_error why = LEAT_ERROR_INIT;
    struct leat_data_hash hash = {.digest = {0}};
    struct leat_data_file opened;
    int r = leat_data_open(opener, path, &opened, &why);

    data->states[file] = opened.state;
    if (r == 0 && is_known(data, known, file)) {
        memcpy(hash.digest, known->digests[file], sizeof(hash.digest));
        if (file < data->n_detailed)
            memcpy(hash.ranges, known->ranges[file], sizeof(hash.ranges));
    } else if (r == 0) {
        r = leat_data_hash(&opened, path, opened.state.n_bytes, data->is_full, &hash, &why);
        data->n_read_bytes += opened.fd >= 0 ? n_hashed(opened.state.n_bytes, data->is_full) : 0;
    }
    leat_data_close(&opened);
    if (r < 0 && (scope->must_read || r == -ENOMEM || r == -EMFILE || r == -ENFILE)) {
        *err = why;
        return r;
    }
    if (r < 0)
        data->states[file] = (struct leat_file_state){.n_bytes = LEAT_DATA_UNREADABLE};
    else
        data->n_bytes += data->states[file].n_bytes;
    memcpy(data->digests[file], hash.digest, sizeof(hash.digest));
    if (file < data->n_detailed)
        memcpy(data->ranges[file], hash.ranges, sizeof(hash.ranges));
    return 0;
}

void leat_data_digest(const struct leat_data_scope *scope, struct leat_data *data) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, data->is_full ? "leat data 2, all bytes" : "leat data 2, samples");
    leat_blake2b_u64(&state, scope->n_sources);
    for (size_t i = 0; i < scope->n_sources; i++)
        leat_blake2b_u64(&state, scope->first_files[i]);
    leat_blake2b_u64(&state, data->n_files);
    for (size_t i = 0; i < data->n_files; i++) {
        leat_blake2b_u64(&state, data->states[i].n_bytes);
        leat_blake2b_update(&state, data->digests[i], sizeof(data->digests[i]));
    }
    leat_blake2b_final(&state, data->digest);
}

int leat_data_new(const struct leat_data_scope *scope, const struct leat_opener *opener,
                  const struct leat_data *known, struct leat_data **ret_data,
                  struct leat_error *err) {
    struct leat_data *data = leat_data_alloc(scope->files->n_paths, scope->is_full);
    int r = data ? 0 : leat_error_oom(err);

    for (size_t i = 0; r == 0 && i < data->n_files; i++)
        r = look_at_file(scope, opener, known, i, data, err);
    if (r < 0) {
        leat_data_unref(data);
        return r;
    }
    leat_data_digest(scope, data);
    *ret_data = data;
    return 0;
}
