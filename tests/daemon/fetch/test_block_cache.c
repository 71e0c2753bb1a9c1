/* test_block_cache.c: daemon/fetch/block_cache.c: blocks on the disk, what else lies there, and
 * disks that fail at any moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/fetch/block_cache.h"
#include "proto/base/xxh3.h"

#define KIB 1024ULL

static char root[] = "/tmp/leat-blocks-XXXXXX";
static char folder[256];
static uint8_t bytes[1 << 20];

static int make_root(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * i / 251 + i);
    return mkdtemp(root) ? 0 : -1;
}

static void remove_all(const char *path) {
    char command[300];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static int remove_root(void **state) {
    (void)state;
    remove_all(root);
    return 0;
}

/* A folder of its own for each test. */
static struct leat_block_cache open_cache(const char *name, uint64_t max_bytes) {
    struct leat_block_cache cache;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)snprintf(folder, sizeof(folder), "%s/in/%s", root, name);
    assert_int_equal(leat_block_cache_init(&cache, folder, max_bytes, 64 * KIB, &err), 0);
    return cache;
}

static struct leat_fetch_object make_object(const char *url, uint8_t version, uint64_t n_bytes) {
    return (struct leat_fetch_object){
        .url = (char *)(uintptr_t)url, .n_bytes = n_bytes, .identity = {version}};
}

static void begin_block(struct leat_block_writer *writer, struct leat_block_cache *cache,
                        const struct leat_fetch_object *object, struct leat_block_range range) {
    assert_int_equal(leat_block_writer_begin(writer, cache, object, range), 0);
}

/* In pieces of n_piece bytes. */
static int add_bytes(struct leat_block_writer *writer, size_t from, size_t to, size_t n_piece) {
    int r = 0;

    for (size_t n; r == 0 && from < to; from += n) {
        n = to - from < n_piece ? to - from : n_piece;
        r = leat_block_writer_add(writer, bytes + from, n);
    }
    return r;
}

/* is_kept: the file has the hash too. */
static void check_block(int take_fd, size_t n_bytes, bool is_kept) {
    uint8_t *found = malloc(n_bytes + 9);
    XXH64_canonical_t hash;

    assert_non_null(found);
    assert_true(take_fd >= 0);
    assert_int_equal(pread(take_fd, found, n_bytes + 9, 0), n_bytes + (is_kept ? 8 : 0));
    assert_memory_equal(found, bytes, n_bytes);
    XXH64_canonicalFromHash(&hash, XXH3_64bits(bytes, n_bytes));
    assert_true(!is_kept || memcmp(found + n_bytes, &hash, sizeof(hash)) == 0);
    free(found);
    (void)close(take_fd);
}

static int write_block(struct leat_block_cache *cache, const struct leat_fetch_object *object,
                       struct leat_block_range range) {
    struct leat_block_writer writer;

    begin_block(&writer, cache, object, range);
    assert_int_equal(add_bytes(&writer, 0, range.n_bytes, 16384), 0);
    return leat_block_writer_finish(&writer);
}

static size_t count_files(uint64_t *ret_n_bytes) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    struct stat info;
    size_t n = 0;

    *ret_n_bytes = 0;
    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_int_equal(fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW), 0);
        *ret_n_bytes += S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
        n++;
    }
    (void)closedir(directory);
    return n;
}

/* ---- blocks ---- */

static void blocks_come_back(void **state) {
    static const size_t sizes[] = {1, 4096, 262143, 262144, 262145, 524288, 1 << 20};
    struct leat_block_cache cache = open_cache("back", 100 << 20);
    uint64_t n_bytes;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (size_t n_piece = 1000; n_piece <= 1 << 20; n_piece *= 32) {
            struct leat_fetch_object object = make_object("https://h/a", (uint8_t)i, 5 << 20);
            struct leat_block_range range = {n_piece, sizes[i]};
            struct leat_block_writer writer;
            assert_false(leat_block_cache_has(&cache, &object, range));
            assert_int_equal(leat_block_cache_open(&cache, &object, range), -1);
            begin_block(&writer, &cache, &object, range);
            assert_int_equal(add_bytes(&writer, 0, sizes[i], n_piece), 0);
            assert_false(leat_block_cache_has(&cache, &object, range)); /* whole or not at all */
            check_block(leat_block_writer_finish(&writer), sizes[i], true);
            assert_true(leat_block_cache_has(&cache, &object, range));
            check_block(leat_block_cache_open(&cache, &object, range), sizes[i], true);
        }
    leat_block_cache_deinit(&cache);
    cache = open_cache("back", 100 << 20); /* also to another process */
    (void)count_files(&n_bytes);
    assert_int_equal(cache.n_bytes, n_bytes);
    leat_block_cache_deinit(&cache);
}

/* A block is found by all that it depends on. */
static void other_blocks_are_others(void **state) {
    struct leat_block_cache cache = open_cache("others", 100 << 20);
    struct leat_fetch_object object = make_object("https://h/a", 1, 100000),
                             others[] = {make_object("https://h/b", 1, 100000),
                                         make_object("https://h/a", 2, 100000),
                                         make_object("https://h/a", 1, 100001)};
    struct leat_block_range range = {0, 65536}, ranges[] = {{65536, 65536}, {0, 65535}, {1, 65536}};

    (void)state;
    check_block(write_block(&cache, &object, range), 65536, true);
    for (size_t i = 0; i < 3; i++) {
        assert_false(leat_block_cache_has(&cache, &others[i], range));
        assert_false(leat_block_cache_has(&cache, &object, ranges[i]));
    }
    assert_int_equal(leat_n_blocks(&cache, &object), 2);
    assert_int_equal(leat_block_number(&cache, &object, 0).n_bytes, 65536);
    assert_int_equal(leat_block_number(&cache, &object, 1).n_bytes, 100000 - 65536);
    leat_block_cache_remove(&cache, &object, range);
    assert_false(leat_block_cache_has(&cache, &object, range));
    leat_block_cache_deinit(&cache);
}

static void what_is_dropped_leaves_nothing(void **state) {
    struct leat_block_cache cache = open_cache("dropped", 100 << 20);
    struct leat_fetch_object object = make_object("https://h/a", 1, 1 << 20);
    struct leat_block_writer writer;
    uint64_t n_bytes;

    (void)state;
    begin_block(&writer, &cache, &object, (struct leat_block_range){0, 1 << 20});
    assert_int_equal(add_bytes(&writer, 0, 300000, 16384), 0);
    assert_int_equal(count_files(&n_bytes), 1);
    assert_int_equal(n_bytes, 262144); /* the rest is still gathered */
    leat_block_writer_drop(&writer);
    assert_int_equal(count_files(&n_bytes), 0);
    leat_block_cache_deinit(&cache);
}

/* ---- size ---- */

static void age(const char *name, int days) {
    struct timespec times[2] = {{.tv_sec = 1700000000 - 86400 * days},
                                {.tv_sec = 1700000000 - 86400 * days}};
    char path[600];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* The blocks that were not read for the longest time go first, and none that is being written. */
static void the_oldest_go_first(void **state) {
    struct leat_block_cache cache = open_cache("old", 1000 * KIB);
    struct leat_fetch_object objects[12];
    struct leat_block_range range = {0, 100 * KIB - 8};
    struct leat_block_writer writer;
    uint64_t n_bytes;

    (void)state;
    for (uint8_t i = 0; i < 12; i++)
        objects[i] = make_object("https://h/a", i, 1 << 20);
    for (uint8_t i = 0; i < 9; i++) {
        struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        int fd = write_block(&cache, &objects[i], range);
        assert_int_equal(futimens(fd, times), 0);
        check_block(fd, range.n_bytes, true);
    }
    begin_block(&writer, &cache, &objects[9], range);
    assert_int_equal(futimens(writer.fd, (const struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}),
                     0);
    check_block(leat_block_cache_open(&cache, &objects[0], range), range.n_bytes,
                true); /* is used */
    check_block(write_block(&cache, &objects[10], range), range.n_bytes, true);
    assert_true(leat_block_cache_has(&cache, &objects[1], range)); /* there is just enough room */
    check_block(write_block(&cache, &objects[11], range), range.n_bytes, true);
    assert_true(leat_block_cache_has(&cache, &objects[0], range));
    assert_false(leat_block_cache_has(&cache, &objects[1], range));
    assert_true(leat_block_cache_has(&cache, &objects[10], range));
    assert_int_equal(add_bytes(&writer, 0, range.n_bytes, 16384), 0);
    check_block(leat_block_writer_finish(&writer), range.n_bytes, true);
    (void)count_files(&n_bytes);
    assert_in_range(n_bytes, 500 * KIB, 1000 * KIB);
    assert_int_equal(cache.n_bytes, n_bytes);
    leat_block_cache_deinit(&cache);
}

/* What others have left in the folder: old blocks go, and the rest stays. */
static void what_else_lies_there(void **state) {
    struct leat_block_cache cache = open_cache("else", 100 * KIB);
    struct leat_fetch_object object = make_object("https://h/a", 1, 1 << 20);
    static const char *const names[] = {
        "notes.txt", ".block", "0123-0.block", ".0123-7.block",
        "a-very-long-name-that-no-block-has-a-very-long-name-that-no-"
        "block-has-a-very-long-name-that-no.block"};
    char path[600];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int fd;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, 100 * KIB), 100 * KIB);
        (void)close(fd);
        age(names[i], 10);
    }
    (void)snprintf(path, sizeof(path), "%s/folder.block", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    age("folder.block", 20);
    (void)snprintf(path, sizeof(path), "%s/link.block", folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    age("link.block", 15);
    leat_block_cache_deinit(&cache);
    cache = open_cache("else", 100 * KIB);
    check_block(write_block(&cache, &object, (struct leat_block_range){0, 64 * KIB}), 64 * KIB,
                true);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(access(path, F_OK), i == 2 || i == 3 ? -1 : 0);
    }
    (void)snprintf(path, sizeof(path), "%s/folder.block", folder);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
    leat_block_cache_deinit(&cache);
}

/* ---- disks that fail ---- */

enum failure { FOLDER_IS_GONE, NO_NAME, READ_ONLY, READ_ONLY_AT_ONCE, SHORTENED };

/* From now on the file of the writer takes no bytes more, as on a full disk. */
static void make_read_only(const struct leat_block_writer *writer) {
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", writer->fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(dup3(fd, writer->fd, O_CLOEXEC), writer->fd);
    (void)close(fd);
}

static void blocks_survive_the_disk(void **state) {
    static const struct {
        enum failure failure;
        int code;
    } rows[] = {{FOLDER_IS_GONE, 0},
                {NO_NAME, 0},
                {READ_ONLY, 0},
                {READ_ONLY_AT_ONCE, 0},
                {SHORTENED, -EIO}};
    struct leat_block_range range = {0, 900000};
    char path[600];

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_block_cache cache = open_cache("failing", 100 << 20);
        struct leat_fetch_object object = make_object("https://h/a", 1, 1 << 20);
        struct leat_block_writer writer;
        int fd, r = 0;
        begin_block(&writer, &cache, &object, range);
        if (rows[k].failure == READ_ONLY_AT_ONCE)
            make_read_only(&writer);
        r = add_bytes(&writer, 0, 600000, 50000);
        assert_int_equal(r, 0);
        switch (rows[k].failure) {
        case FOLDER_IS_GONE:
            remove_all(folder);
            break;
        case NO_NAME: /* a folder has the name of the block */
            (void)snprintf(path, sizeof(path), "%s/%s", folder, writer.name);
            assert_int_equal(mkdir(path, 0700), 0);
            break;
        case SHORTENED:
            assert_int_equal(ftruncate(writer.fd, 1000), 0);
            make_read_only(&writer);
            break;
        case READ_ONLY:
            make_read_only(&writer);
            break;
        case READ_ONLY_AT_ONCE:
            break;
        }
        r = add_bytes(&writer, 600000, 900000, 50000);
        assert_int_equal(r, rows[k].code);
        if (r < 0) {
            leat_block_writer_drop(&writer);
        } else {
            fd = leat_block_writer_finish(&writer);
            assert_true(cache.is_failing);
            check_block(fd, 900000, false);
        }
        leat_block_cache_deinit(&cache);
        remove_all(folder);
    }
}

/* Once a block can be kept again, the next failure is told again. */
static void the_disk_comes_back(void **state) {
    struct leat_block_cache cache = open_cache("comes", 100 << 20);
    struct leat_fetch_object object = make_object("https://h/a", 1, 1 << 20);
    struct leat_block_range range = {0, 1000};
    struct leat_block_writer writer;

    (void)state;
    begin_block(&writer, &cache, &object, range);
    make_read_only(&writer);
    assert_int_equal(add_bytes(&writer, 0, 1000, 1000), 0);
    check_block(leat_block_writer_finish(&writer), 1000, false);
    assert_true(cache.is_failing && !leat_block_cache_has(&cache, &object, range));
    check_block(write_block(&cache, &object, range), 1000, true);
    assert_true(!cache.is_failing && leat_block_cache_has(&cache, &object, range));
    leat_block_cache_deinit(&cache);
}

static void folders_that_cannot_be(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_fetch_object object = make_object("https://h/a", 1, 1 << 20);
    struct leat_block_range range = {0, 5000};
    struct leat_block_cache cache;
    char path[300];

    (void)state;
    assert_int_equal(leat_block_cache_init(&cache, "/dev/null/x", 1 << 20, 4096, &err), -ENOTDIR);
    assert_string_equal(err.message, "/dev/null/x: Not a directory");
    assert_false(leat_block_cache_has(&cache, &object, range));
    check_block(write_block(&cache, &object, range), 5000, false); /* goes on without */
    leat_block_cache_deinit(&cache);
    (void)snprintf(path, sizeof(path), "%s/file", root);
    (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(leat_block_cache_init(&cache, path, 1 << 20, 4096, &err), -ENOTDIR);
    leat_block_cache_deinit(&cache);
    (void)unsetenv("HOME");
    (void)unsetenv("XDG_CACHE_HOME");
    (void)unsetenv("CACHE_DIRECTORY");
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_block_cache_init(&cache, NULL, 1 << 20, 4096, &err), -ENOENT);
    assert_non_null(strstr(err.message, "set HOME"));
    leat_block_cache_deinit(&cache);
    (void)setenv("XDG_CACHE_HOME", root, 1);
    assert_int_equal(leat_block_cache_init(&cache, NULL, 1 << 20, 4096, &err), 0);
    leat_block_cache_deinit(&cache);
    (void)snprintf(path, sizeof(path), "%s/leat/fetch", root);
    assert_int_equal(access(path, W_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_back),
        cmocka_unit_test(other_blocks_are_others),
        cmocka_unit_test(what_is_dropped_leaves_nothing),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(what_else_lies_there),
        cmocka_unit_test(blocks_survive_the_disk),
        cmocka_unit_test(the_disk_comes_back),
        cmocka_unit_test(folders_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
