/* test_cache_merge.c: pipeline/cache/merge.c, run/cache.c: shards that are prepared apart and
 * joined are the cache that is built at once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/key.h"
#include "pipeline/cache/merge.h"
#include "pipeline/cache/shards.h"
#include "pipeline/cache/shards_index.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_records.h"

#define CACHE  "cache: {path: .}"
#define FILES  "csv: {paths: [a.csv, b.csv, c.csv]}"
#define STAGES CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 16}"
#define FILTERED                                                                                   \
    CASTS "- filter: {input: id, min: 99}\n- select: {fields: [id, age]}\n"                        \
          "- batch: {batch_size: 16}"

static const char *stages = STAGES;

static void damage(const char *path, off_t at) {
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static void prepare(uint32_t shard, uint32_t n_shards, const char *folder, const char *options) {
    struct drive how = {
        .options = {
            .only_builds = true, .cache_folder = folder, .shard = shard, .n_shards = n_shards}};
    struct driven driven;

    driven = drive_stream(FILES, options, stages, &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_batches, 0);
}

static void remove_folder(const char *folder) {
    struct dirent *entry;
    DIR *directory = opendir(folder);

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        (void)closedir(directory);
    (void)rmdir(folder);
}

static int merge(const char *options, const char *folder, struct leat_error *err) {
    struct leat_plan *plan = stream_plan(FILES, options, stages);
    struct leat_cache_merged merged;
    char target[256];
    int r;

    (void)snprintf(target, sizeof(target), "%s", folder_path("."));
    *err = LEAT_ERROR_INIT;
    r = leat_cache_merge(plan, &leat_opener_any, target, &folder, 1, NULL, &merged, err);
    leat_plan_unref(plan);
    assert_int_equal(r, err->code);
    return r;
}

/* Shards of any number, prepared in any order, are byte for byte the cache that is built at once.
 */
static void test_shards(void **state) {
    const char *options = CACHE "\n    block_bytes: 4096\n    on_error: skip";
    struct drive at_once = {.options = {.only_builds = true}};
    char folder[256], name[LEAT_CACHE_NAME_MAX];
    struct leat_error err;
    struct driven driven;
    size_t n_whole, n_bytes;
    uint8_t *whole, *bytes;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s", folder_path("shards"));
    write_data("a.csv", 0, 700, 97);
    write_data("b.csv", 700, 3, 0);
    write_data("c.csv", 703, 900, 50);
    remove_caches();
    driven = drive_stream(FILES, options, stages, &at_once);
    assert_string_equal(driven.error.message, "");
    (void)snprintf(name, sizeof(name), "%s", cache_name());
    whole = read_bytes(name, &n_whole);
    for (uint32_t n = 2; n < 40; n += 1 + n / 4) {
        for (uint32_t i = 0; i < n; i++)
            prepare(n - 1 - i, n, folder, options);
        remove_caches();
        if (merge(options, folder, &err) < 0)
            fail_msg("%u shards: %s", n, err.message);
        assert_string_equal(cache_name(), name);
        bytes = read_bytes(name, &n_bytes);
        assert_int_equal(n_bytes, n_whole);
        assert_memory_equal(bytes, whole, n_whole);
        free(bytes);
        assert_int_equal(merge(options, folder, &err), 0); /* once more: it is there */
        remove_folder(folder);
    }
    free(whole);
    remove_folder(folder);
}

static void check_merge(const char *options, const char *folder, int code, const char *message) {
    struct leat_error err;

    if (merge(options, folder, &err) != code || !strstr(err.message, message))
        fail_msg("%d: %s\nand not %d: %s", err.code, err.message, code, message);
}

static void test_wrong_shards(void **state) {
    const char *options = CACHE "\n    block_bytes: 4096";
    char folder[256], path[512], other[512];
    char *name;
    DIR *directory;
    struct dirent *entry;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s", folder_path("shards"));
    write_data("a.csv", 0, 700, 0);
    write_data("b.csv", 700, 3, 0);
    write_data("c.csv", 703, 900, 0);
    remove_caches();
    check_merge(options, folder, -ENOENT, "shards");
    assert_int_equal(mkdir(folder, 0700), 0);
    check_merge(options, folder, -EINVAL, "the folder has no shards");
    prepare(1, 3, folder, options);
    prepare(2, 3, folder, options);
    check_merge(options, folder, -EINVAL, "shard 0/3 is missing: make it with `leatctl prepare");
    prepare(0, 3, folder, options);
    check_merge(CACHE "\n    max_record_bytes: 5000", folder, -ESTALE, "another source");
    check_merge("cache: {path: ., verify: full}", folder, -ESTALE, "other data");
    prepare(1, 4, folder, options);
    check_merge(options, folder, -EINVAL, "belongs to a set of");
    remove_folder(folder);
    prepare(0, 2, folder, options);
    prepare(1, 2, folder, options);
    directory = opendir(folder);
    while ((entry = readdir(directory)) && !strstr(entry->d_name, "-1-of-2"))
        continue;
    name = strdup(entry->d_name);
    (void)closedir(directory);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)snprintf(other, sizeof(other), "%s/x-of-y.leat", folder);
    assert_int_equal(link(path, other), 0);
    check_merge(options, folder, -EINVAL, "is the same shard as");
    assert_int_equal(unlink(other), 0);
    damage(path, 1500);
    check_merge(options, folder, -EBADMSG, "is damaged");
    assert_null(cache_name()); /* nothing is left of the attempt */
    assert_int_equal(truncate(path, 3000), 0);
    check_merge(options, folder, -EINVAL, "is not complete");
    assert_int_equal(unlink(path), 0);
    write_data("a.csv", 0, 701, 0);
    check_merge(options, folder, -ESTALE, "other data");
    free(name);
    remove_folder(folder);
}

/* What another process has left half is thrown away; while it builds, nobody else does. */
static void test_half_there(void **state) {
    const char *options = CACHE "\n    block_bytes: 4096";
    struct leat_cache_limits no_limits = {.max_size = 0};
    struct drive at_once = {.options = {.only_builds = true}},
                 cut = {.cancel_after = 2, .options = {.n_epochs = 1, .max_map_jobs = 1}};
    struct leat_cache_found found = {.file = NULL};
    struct leat_cache_identity identity;
    struct leat_data *data = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    char folder[256], name[LEAT_CACHE_NAME_MAX], other[512], *description;
    struct leat_plan *plan;
    size_t n_whole, n_bytes;
    uint8_t *whole, *bytes;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s", folder_path("shards"));
    write_data("a.csv", 0, 700, 0);
    write_data("b.csv", 700, 3, 0);
    write_data("c.csv", 703, 20000, 0);
    remove_caches();
    assert_int_equal(drive_stream(FILES, options, stages, &at_once).error.code, 0);
    (void)snprintf(name, sizeof(name), "%s", cache_name());
    whole = read_bytes(name, &n_whole);
    for (uint32_t i = 0; i < 2; i++)
        prepare(i, 2, folder, options);

    remove_caches();
    (void)drive_stream(FILES, options, stages, &cut);
    assert_non_null(strstr(cache_name(), ".partial"));
    assert_int_equal(merge(options, folder, &err), 0);
    assert_string_equal(cache_name(), name);
    bytes = read_bytes(name, &n_bytes);
    assert_int_equal(n_bytes, n_whole);
    assert_memory_equal(bytes, whole, n_whole);
    free(bytes);

    remove_caches();
    plan = stream_plan(FILES, options, stages);
    description = leat_cache_describe(plan);
    assert_int_equal(leat_cache_key(plan, &leat_opener_any, &data, &identity, &err), 0);
    assert_int_equal(leat_cache_store_open(folder_path("."), &identity, description, &no_limits,
                                           true, &found, &err),
                     0);
    assert_true(found.is_builder);
    check_merge(options, folder, -EBUSY, "another process is building this cache");
    leat_cache_file_unref(found.file);
    assert_int_equal(merge(options, folder, &err), 0);
    leat_data_unref(data);
    free(description);
    leat_plan_unref(plan);

    (void)snprintf(name, sizeof(name), "%s", cache_name());
    (void)snprintf(other, sizeof(other), "%s/x-of-y.leat", folder);
    assert_int_equal(link(folder_path(name), other), 0);
    check_merge(options, folder, -EINVAL, "x-of-y.leat: this file is not a shard of a cache");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink(folder_path("a.csv"), other), 0);
    check_merge(options, folder, -EBADMSG, "this file is not a cache");
    free(whole);
    remove_folder(folder);
    remove_caches();
}

static int index_shards(const char *options, const char *folder, char *ret_name,
                        struct leat_error *err) {
    struct leat_plan *plan = stream_plan(FILES, options, stages);
    struct leat_cache_shards shards;
    int r = leat_cache_shards_open(&shards, plan, &leat_opener_any, &folder, 1, -ESTALE, err);

    if (r == 0)
        r = leat_cache_shards_index(&shards, plan, &leat_opener_any, folder_path("."), ret_name,
                                    err);
    leat_cache_shards_deinit(&shards);
    leat_plan_unref(plan);
    return r;
}

/* The index that is made of shards is that which a run makes of the source; of a damaged shard,
 * none is made. */
static void test_index_of_shards(void **state) {
    static const char *const compressions[] = {"raw", "lz4"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct drive builds = {.options = {.n_epochs = 1}};
        char index_folder[256], folder[256], options[128], name[LEAT_CACHE_NAME_MAX], path[512];
        struct leat_error err = LEAT_ERROR_INIT;
        size_t n_whole, n_bytes;
        uint8_t *whole, *bytes;
        struct dirent *entry;
        struct driven late;
        DIR *directory;

        (void)snprintf(folder, sizeof(folder), "%s", folder_path("shards"));
        (void)snprintf(index_folder, sizeof(index_folder), "%s", folder_path("."));
        builds.options.index_folder = index_folder;
        stages = FILTERED;
        (void)snprintf(options, sizeof(options),
                       "cache: {path: ., compression: %s}\n    block_bytes: 4096", compressions[i]);
        write_data("a.csv", 0, 700, 0);
        write_data("b.csv", 700, 3, 0);
        write_data("c.csv", 703, 900, 0);
        remove_caches();
        for (uint32_t k = 0; k < 3; k++)
            prepare(k, 3, folder, options);
        assert_int_equal(drive_stream(FILES, "block_bytes: 4096", stages, &builds).error.code, 0);
        whole = read_bytes(cache_name(), &n_whole);
        builds.options.first_step = 50;
        remove_caches();
        assert_int_equal(index_shards(options, folder, name, &err), 0);
        assert_string_equal(cache_name(), name);
        bytes = read_bytes(name, &n_bytes);
        if (i == 1) { /* as a run compresses it */
            assert_int_equal(n_bytes, n_whole);
            assert_memory_equal(bytes, whole, n_whole);
        }
        late = drive_stream(FILES, "block_bytes: 4096", stages, &builds);
        builds.options.index_folder = NULL;
        assert_string_equal(late.error.message, "");
        assert_string_equal(drive_stream(FILES, "block_bytes: 4096", stages, &builds).digest,
                            late.digest);
        free(bytes);
        free(whole);

        remove_caches();
        directory = opendir(folder);
        while ((entry = readdir(directory)) && !strstr(entry->d_name, "-1-of-3"))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)closedir(directory);
        damage(path, 1500);
        assert_int_equal(index_shards(options, folder, name, &err), -EBADMSG);
        assert_non_null(strstr(err.message, "is damaged"));
        assert_non_null(strstr(err.path, "-1-of-3.leat"));
        assert_null(cache_name());
        remove_folder(folder);
    }
    stages = STAGES;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_wrong_shards),
        cmocka_unit_test(test_half_there),
        cmocka_unit_test(test_index_of_shards),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
