/* data_kept.c: see data_kept.h.
 *
 *     head, records of files, hashes of the ranges of the first files, checksum
 *
 * Numbers have the byte order of the machine; on another one the head is not that of such a file.
 */
#include "pipeline/plan/data_kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/xxh3.h"

#define SETTLED_NS (INT64_C(2) * 1000 * 1000 * 1000) /* the coarsest clock of a file system */
#define NAME_SIZE  (8 + 2 * LEAT_DIGEST_BYTES)

struct head {
    uint64_t magic, is_full, n_files, n_detailed;
};
#define MAGIC UINT64_C(0x3173656c69662074)

struct record {
    uint64_t path; /* its hash */
    uint64_t inode, n_bytes;
    int64_t modified_ns, changed_ns;
    uint8_t digest[LEAT_DATA_DIGEST_BYTES];
};

/* Where it lies in the bytes. */
struct place {
    uint64_t path;
    size_t index;
};

/* ---- bytes ---- */

static uint64_t hash_path(const char *path) {
    return XXH3_64bits(path, strlen(path));
}

static size_t size_of(uint64_t n_files, uint64_t n_detailed) {
    return sizeof(struct head) + n_files * sizeof(struct record) +
           n_detailed * LEAT_DATA_RANGES * sizeof(uint64_t) + LEAT_DIGEST_BYTES;
}

uint8_t *leat_data_kept_pack(const struct leat_files *files, const struct leat_data *data,
                             size_t *ret_n_bytes) {
    size_t n_bytes = size_of(data->n_files, data->n_detailed);
    uint8_t *bytes = malloc(n_bytes), *at = bytes;
    struct head head = {MAGIC, data->is_full, data->n_files, data->n_detailed};

    if (!bytes)
        return NULL;
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    for (size_t i = 0; i < data->n_files; i++, at += sizeof(struct record)) {
        const struct leat_file_state *state = &data->states[i];
        struct record record = {hash_path(files->paths[i]), state->inode,      state->n_bytes,
                                state->modified_ns,         state->changed_ns, {0}};

        memcpy(record.digest, data->digests[i], sizeof(record.digest));
        memcpy(at, &record, sizeof(record));
    }
    memcpy(at, data->ranges, data->n_detailed * sizeof(*data->ranges));
    leat_blake2b(bytes, n_bytes - LEAT_DIGEST_BYTES, bytes + n_bytes - LEAT_DIGEST_BYTES);
    *ret_n_bytes = n_bytes;
    return bytes;
}

static bool is_whole(const uint8_t *bytes, size_t n_bytes, struct head *ret_head) {
    uint8_t digest[LEAT_DIGEST_BYTES];

    if (n_bytes < size_of(0, 0) || n_bytes > LEAT_DATA_KEPT_BYTES)
        return false;
    memcpy(ret_head, bytes, sizeof(*ret_head));
    if (ret_head->magic != MAGIC || ret_head->is_full > 1 || ret_head->n_files > n_bytes ||
        ret_head->n_detailed > ret_head->n_files || ret_head->n_detailed > LEAT_DATA_DETAILED ||
        n_bytes != size_of(ret_head->n_files, ret_head->n_detailed))
        return false;
    leat_blake2b(bytes, n_bytes - LEAT_DIGEST_BYTES, digest);
    return memcmp(digest, bytes + n_bytes - LEAT_DIGEST_BYTES, sizeof(digest)) == 0;
}

static int by_path(const void *a, const void *b) {
    const struct place *x = a, *y = b;

    return (x->path > y->path) - (x->path < y->path);
}

static struct place *sort_places(const uint8_t *records, size_t n) {
    struct place *places = calloc(n + 1, sizeof(*places));

    for (size_t i = 0; places && i < n; i++) {
        memcpy(&places[i].path, records + i * sizeof(struct record), sizeof(places[i].path));
        places[i].index = i;
    }
    if (places)
        qsort(places, n, sizeof(*places), by_path);
    return places;
}

/* False: what is kept of the file tells nothing. */
static bool take_record(const uint8_t *records, const struct head *head, size_t index,
                        int64_t settled_ns, struct leat_data *data, size_t file) {
    const uint8_t *ranges = records + head->n_files * sizeof(struct record) +
                            index * LEAT_DATA_RANGES * sizeof(uint64_t);
    struct record record;

    memcpy(&record, records + index * sizeof(record), sizeof(record));
    if (record.changed_ns >= settled_ns || record.modified_ns >= settled_ns ||
        (file < data->n_detailed && index >= head->n_detailed))
        return false;
    data->states[file] = (struct leat_file_state){.inode = record.inode,
                                                  .n_bytes = record.n_bytes,
                                                  .modified_ns = record.modified_ns,
                                                  .changed_ns = record.changed_ns};
    memcpy(data->digests[file], record.digest, sizeof(record.digest));
    if (file < data->n_detailed)
        memcpy(data->ranges[file], ranges, sizeof(data->ranges[file]));
    return true;
}

int leat_data_kept_unpack(const struct leat_files *files, bool is_full, const uint8_t *bytes,
                          size_t n_bytes, int64_t written_ns, struct leat_data **ret_data) {
    struct head head;
    struct leat_data *data;
    struct place *places;
    const uint8_t *records = bytes + sizeof(head);

    if (!is_whole(bytes, n_bytes, &head) || head.is_full != is_full)
        return -EBADMSG;
    data = leat_data_alloc(files->n_paths, is_full);
    places = sort_places(records, (size_t)head.n_files);
    for (size_t i = 0; data && places && i < data->n_files; i++) {
        const struct place wanted = {.path = hash_path(files->paths[i])};
        const struct place *found =
            bsearch(&wanted, places, (size_t)head.n_files, sizeof(*places), by_path);

        if (!found || !take_record(records, &head, found->index, written_ns - SETTLED_NS, data, i))
            data->states[i].n_bytes = LEAT_DATA_UNREADABLE;
    }
    if (!places)
        data = leat_data_unref(data);
    free(places);
    *ret_data = data;
    return data ? 0 : -ENOMEM;
}

/* ---- the folder ---- */

void leat_data_kept_init(struct leat_data_kept *kept, const char *state_directory) {
    leat_state_folder_init(&kept->folder, state_directory, "files", ".files", LEAT_DATA_KEPT_FILES,
                           2 * LEAT_DATA_KEPT_BYTES);
}

/* Names the kept file after the stream and the folder of its first data file, so that the bytes are
 * found again when a data file is added. */
static void name_of(const struct leat_plan *plan, bool is_full, char ret_name[NAME_SIZE]) {
    const struct leat_files *files = &plan->source->files;
    const char *first = files->n_paths > 0 ? files->paths[0] : "", *slash = strrchr(first, '/');
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_blake2b state;
    size_t n = (size_t)snprintf(ret_name, NAME_SIZE, "files-");

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, plan->spec->name);
    leat_blake2b_u64(&state, is_full);
    leat_blake2b_update(&state, first, slash ? (size_t)(slash - first) : 0);
    leat_blake2b_final(&state, digest);
    leat_hex(digest, LEAT_DIGEST_BYTES / 2, ret_name + n);
}

static struct leat_data *load(const struct leat_data_kept *kept, const struct leat_plan *plan,
                              bool is_full, const char *name, struct leat_error *ret_failure) {
    struct leat_data *data = NULL;
    int64_t written_ns = 0;
    char *bytes = NULL;
    size_t n_bytes = 0;

    if (leat_state_folder_read_own(&kept->folder, name, LEAT_DATA_KEPT_BYTES, &bytes, &n_bytes,
                                   &written_ns, ret_failure) < 0)
        return NULL;
    if (leat_data_kept_unpack(&plan->source->files, is_full, (uint8_t *)bytes, n_bytes, written_ns,
                              &data) == -EBADMSG) {
        leat_error_set(ret_failure, -EBADMSG,
                       "the file is damaged, so leat reads all data files again");
        leat_state_folder_locate(&kept->folder, name, ret_failure);
    }
    free(bytes);
    return data;
}

static void keep(const struct leat_data_kept *kept, const struct leat_plan *plan, const char *name,
                 struct leat_error *ret_failure) {
    size_t n_bytes;
    uint8_t *bytes;

    if (size_of(plan->data->n_files, plan->data->n_detailed) > LEAT_DATA_KEPT_BYTES)
        return;
    bytes = leat_data_kept_pack(&plan->source->files, plan->data, &n_bytes);
    if (!bytes)
        leat_error_oom(ret_failure);
    else
        (void)leat_state_folder_write(&kept->folder, name, bytes, n_bytes, ret_failure);
    free(bytes);
}

int leat_data_kept_identify(const struct leat_data_kept *kept, struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_data *known,
                            struct leat_error *ret_failure, struct leat_error *err) {
    bool is_full = plan->options.verify == LEAT_VERIFY_FULL;
    struct leat_data *loaded = NULL;
    char name[NAME_SIZE];
    int r;

    if (plan->set || plan->is_one_pass || !kept->folder.path[0])
        return leat_plan_identify_data(plan, opener, known, err);
    name_of(plan, is_full, name);
    if (!known || known->n_files != plan->source->files.n_paths)
        known = loaded = load(kept, plan, is_full, name, ret_failure);
    r = leat_plan_identify_data(plan, opener, known, err);
    leat_data_unref(loaded);
    if (r == 0 && plan->data->n_read_bytes >= LEAT_DATA_KEPT_FROM)
        keep(kept, plan, name, ret_failure);
    return r;
}
