/* test_cache_store.c: pipeline/cache/store.c, cache/store_list.c: one builder a key, readers
 * beside it, what is used least goes first and what is in use never. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/cache/store.h"
#include "tests/pipeline/shared_stream.h"

static const struct leat_cache_limits no_limits;

static struct leat_cache_identity identity_of(uint8_t first) {
    struct leat_cache_identity identity = {.key = {first}, .n_shards = 1};

    return identity;
}

static const char *name_of(uint8_t first, const char *suffix) {
    static char name[128];

    (void)snprintf(name, sizeof(name), "%02x%062d%s", first, 0, suffix);
    return name;
}

static struct leat_cache_found open_cache(uint8_t first, bool may_build,
                                          const struct leat_cache_limits *limits) {
    struct leat_cache_identity identity = identity_of(first);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_found found;

    if (leat_cache_store_open(folder_path("."), &identity, "{}", limits, may_build, &found, &err) <
        0)
        fail_msg("%s", err.message);
    return found;
}

static void add_frame(struct leat_cache_file *file, size_t n_bytes) {
    struct leat_cache_bytes block = {.data = NULL}, stored = {.data = NULL};
    struct leat_cache_frame frame = {.span = {.n_records = 1,
                                              .n_bytes = 1,
                                              .line = 1 + file->n_frames,
                                              .offset = file->n_frames},
                                     .n_rows = 1};
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *bytes;

    while (block.n_bytes < n_bytes)
        leat_cache_bytes_add(&block, "abcdefgh", 8);
    assert_int_equal(leat_cache_frame_store(&frame, LEAT_CACHE_RAW, &block, &stored, &bytes, &err),
                     0);
    leat_cache_file_place(file, &frame);
    assert_int_equal(leat_cache_file_write(file->fd, file->seed, &frame, bytes, &err), 0);
    assert_int_equal(leat_cache_file_add(file, &frame), 0);
    leat_cache_bytes_deinit(&block);
    leat_cache_bytes_deinit(&stored);
}

static void finish(struct leat_cache_found *found) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_cache_store_finish(folder_path("."), found->file, &err) < 0)
        fail_msg("%s", err.message);
}

static void build(uint8_t first, size_t n_bytes) {
    struct leat_cache_found found = open_cache(first, true, &no_limits);

    assert_true(found.is_builder);
    add_frame(found.file, n_bytes);
    finish(&found);
    leat_cache_file_unref(found.file);
}

static bool is_there(const char *name) {
    return access(folder_path(name), F_OK) == 0;
}

static void test_one_builder(void **state) {
    struct leat_cache_found builder = open_cache(1, true, &no_limits), other, reader;

    (void)state;
    assert_true(builder.is_builder);
    add_frame(builder.file, 100);
    other = open_cache(1, true, &no_limits);
    assert_non_null(other.file); /* what is there so far */
    assert_false(other.is_builder);
    assert_false(other.file->is_complete);
    assert_int_equal(other.file->n_frames, 1);
    leat_cache_file_unref(other.file);
    finish(&builder);
    other = open_cache(1, true, &no_limits);
    reader = open_cache(1, false, &no_limits);
    assert_true(other.file->is_complete && reader.file->is_complete);
    assert_false(other.is_builder);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(1, ".leat"), LEAT_ERROR_IGNORED), -EBUSY);
    leat_cache_file_unref(builder.file);
    leat_cache_file_unref(other.file);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(1, ".leat"), LEAT_ERROR_IGNORED), -EBUSY);
    leat_cache_file_unref(reader.file);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(1, ".leat"), LEAT_ERROR_IGNORED), 0);
    reader = open_cache(1, false, &no_limits);
    assert_null(reader.file);
    assert_false(is_there(name_of(1, ".partial")));
}

/* The lock of a killed process is gone with it, its frames are not. */
static void test_killed_builder(void **state) {
    struct leat_cache_found found;
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        found = open_cache(2, true, &no_limits);
        add_frame(found.file, 100);
        add_frame(found.file, 100);
        assert_int_equal(ftruncate(found.file->fd, (off_t)found.file->end - 1), 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    found = open_cache(2, true, &no_limits);
    assert_true(found.is_builder);
    assert_int_equal(found.file->n_frames, 1);
    add_frame(found.file, 100);
    finish(&found);
    leat_cache_file_unref(found.file);
    found = open_cache(2, true, &no_limits);
    assert_true(found.file->is_complete);
    assert_int_equal(found.file->n_frames, 2);
    leat_cache_file_unref(found.file);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(2, ".leat"), LEAT_ERROR_IGNORED), 0);
}

static void damage(const char *name, off_t offset, int whence) {
    int fd = open(folder_path(name), O_RDWR | O_CLOEXEC);
    uint8_t byte;
    off_t at = lseek(fd, offset, whence);

    assert_true(at >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

/* Nobody has to remove by hand what is damaged: it is gone on with, or begun anew. */
static void test_damaged(void **state) {
    struct leat_cache_found found;

    (void)state;
    build(3, 100);
    damage(name_of(3, ".leat"), -1, SEEK_END);
    found = open_cache(3, true, &no_limits);
    assert_true(found.is_builder);
    assert_int_equal(found.file->n_frames, 1);
    finish(&found);
    leat_cache_file_unref(found.file);
    damage(name_of(3, ".leat"), 3, SEEK_SET);
    found = open_cache(3, true, &no_limits);
    assert_true(found.is_builder);
    assert_int_equal(found.file->n_frames, 0);
    add_frame(found.file, 8);
    leat_cache_file_unref(found.file);
    damage(name_of(3, ".partial"), 9, SEEK_SET);
    found = open_cache(3, true, &no_limits);
    assert_true(found.is_builder);
    assert_int_equal(found.file->n_frames, 0);
    leat_cache_store_discard(folder_path("."), found.file);
    leat_cache_file_unref(found.file);
    assert_false(is_there(name_of(3, ".leat")) || is_there(name_of(3, ".partial")));
}

/* A file under the name of another key is none of it. */
static void test_wrong_name(void **state) {
    struct leat_cache_found found;
    char from[256];

    (void)state;
    build(4, 100);
    (void)snprintf(from, sizeof(from), "%s", folder_path(name_of(4, ".leat")));
    assert_int_equal(rename(from, folder_path(name_of(5, ".leat"))), 0);
    found = open_cache(5, true, &no_limits);
    assert_true(found.is_builder);
    assert_int_equal(found.file->n_frames, 0);
    leat_cache_store_discard(folder_path("."), found.file);
    leat_cache_file_unref(found.file);
}

static void set_age(const char *name, int64_t seconds) {
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_nsec = UTIME_OMIT}};

    assert_int_equal(utimensat(AT_FDCWD, folder_path(name), times, 0), 0);
}

static void test_limits(void **state) {
    struct leat_cache_limits size = {.max_size = 4500}, age = {.max_age = 3600};
    struct leat_cache_found used, found;
    struct leat_error err = LEAT_ERROR_INIT;
    char shard[] = "00000000000000000000000000000000000000000000000000000000000000ff-1-of-2.leat";

    (void)state;
    folder_write(shard, "x", 1);
    folder_write("a file of somebody else.leat", "x", 1);
    for (uint8_t i = 10; i < 15; i++)
        build(i, 1000);
    for (uint8_t i = 10; i < 15; i++)
        set_age(name_of(i, ".leat"), 100 - i);
    used = open_cache(10, false, &no_limits); /* the oldest is in use, and by that the newest */
    found = open_cache(15, true, &size);
    add_frame(found.file, 1000);
    assert_int_equal(leat_cache_store_make_room(folder_path("."), &size, 0, &err), 0);
    assert_true(is_there(name_of(10, ".leat")) && is_there(name_of(15, ".partial")));
    assert_false(is_there(name_of(11, ".leat")) || is_there(name_of(12, ".leat")));
    assert_true(is_there(name_of(14, ".leat")));
    assert_int_equal(leat_cache_store_make_room(folder_path("."), &size, 4000, &err), -EDQUOT);
    assert_non_null(strstr(err.message, "max_size (4500)"));
    assert_false(is_there(name_of(14, ".leat")));
    assert_true(is_there(name_of(10, ".leat")) && is_there(name_of(15, ".partial")));
    leat_cache_file_unref(used.file);
    leat_cache_file_unref(found.file);
    set_age(name_of(10, ".leat"), 3700);
    set_age(name_of(15, ".partial"), 3500);
    assert_int_equal(leat_cache_store_make_room(folder_path("."), &age, 0, &err), 0);
    assert_false(is_there(name_of(10, ".leat")));
    assert_true(is_there(name_of(15, ".partial")));
    assert_true(is_there(shard) && is_there("a file of somebody else.leat"));
    (void)unlink(folder_path(name_of(15, ".partial")));
    (void)unlink(folder_path("a file of somebody else.leat"));
}

static void test_list(void **state) {
    struct leat_cache_found builder = open_cache(21, true, &no_limits);
    struct leat_cache_entry *entries;
    struct leat_cache_file *file = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n;

    (void)state;
    build(20, 10);
    set_age(name_of(20, ".leat"), 100);
    assert_int_equal(leat_cache_store_list(folder_path("."), true, &entries, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_string_equal(entries[0].name, name_of(20, ".leat"));
    assert_true(entries[0].is_complete && !entries[0].is_in_use);
    assert_true(!entries[1].is_complete && entries[1].is_in_use);
    assert_int_equal(leat_cache_store_peek(folder_path("."), entries[0].name, &file, &err), 0);
    assert_int_equal(file->n_records, 1);
    leat_cache_file_unref(file);
    free(entries);
    assert_int_equal(leat_cache_store_remove(folder_path("."), "../x", LEAT_ERROR_IGNORED),
                     -EINVAL);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(99, ".leat"), LEAT_ERROR_IGNORED),
        -ENOENT);
    leat_cache_file_unref(builder.file);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(20, ".leat"), LEAT_ERROR_IGNORED), 0);
    assert_int_equal(
        leat_cache_store_remove(folder_path("."), name_of(21, ".partial"), LEAT_ERROR_IGNORED), 0);
    assert_int_equal(leat_cache_store_list(folder_path("none"), true, &entries, &n, &err), -ENOENT);
}

/* Many at once: one builds, nobody fails, and one file is left. */
static void test_crowd(void **state) {
    pid_t pids[16];

    (void)state;
    for (int i = 0; i < 16; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        for (int k = 0; k < 50; k++) {
            struct leat_cache_found found = open_cache(30, true, &no_limits);

            if (found.is_builder && k % 3 == 0) {
                add_frame(found.file, 10);
                if (k % 2)
                    finish(&found);
                else
                    leat_cache_store_discard(folder_path("."), found.file);
            }
            leat_cache_file_unref(found.file);
            if (k % 7 == 0)
                (void)leat_cache_store_remove(folder_path("."), name_of(30, ".leat"),
                                              LEAT_ERROR_IGNORED);
        }
        _exit(0);
    }
    for (int i = 0; i < 16; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_builder), cmocka_unit_test(test_killed_builder),
        cmocka_unit_test(test_damaged),     cmocka_unit_test(test_wrong_name),
        cmocka_unit_test(test_list),        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
