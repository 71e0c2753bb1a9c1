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

#include "pipeline/cache/merge.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_records.h"

#define CACHE  "cache: {path: .}"
#define FILES  "csv: {paths: [a.csv, b.csv, c.csv]}"
#define STAGES CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 16}"

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

    driven = drive_stream(FILES, options, STAGES, &how);
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
    struct leat_plan *plan = stream_plan(FILES, options, STAGES);
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
    driven = drive_stream(FILES, options, STAGES, &at_once);
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
    check_merge(options, folder, -EINVAL, "is one of");
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_wrong_shards),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
