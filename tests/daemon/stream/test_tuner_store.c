/* test_tuner_store.c: daemon/stream/tuner_store.c: a file a key, not too many of them, and none
 * that is damaged is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/stream/tuner_store.h"

static const bool unpinned[LEAT_N_KNOBS];

struct fixture {
    char folder[64], parent[96], directory[128];
    struct leat_tuner_store store;
};

static int open_fixture(void **state) {
    static struct fixture fixture;

    (void)snprintf(fixture.folder, sizeof(fixture.folder), "/tmp/leat-test-XXXXXX");
    if (!mkdtemp(fixture.folder))
        return -1;
    (void)snprintf(fixture.parent, sizeof(fixture.parent), "%s/a", fixture.folder);
    (void)snprintf(fixture.directory, sizeof(fixture.directory), "%s/tuner", fixture.parent);
    leat_tuner_store_init(&fixture.store, fixture.parent, 4, 0);
    *state = &fixture;
    return 0;
}

static size_t for_each(const struct fixture *fixture, void (*call)(const char *path)) {
    DIR *directory = opendir(fixture->directory);
    struct dirent *entry;
    size_t n = 0;
    char path[512];

    while (directory && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        (void)snprintf(path, sizeof(path), "%s/%s", fixture->directory, entry->d_name);
        if (call)
            call(path);
    }
    if (directory)
        (void)closedir(directory);
    return n;
}

static void remove_file(const char *path) {
    (void)unlink(path);
}

static int close_fixture(void **state) {
    struct fixture *fixture = *state;

    (void)for_each(fixture, remove_file);
    (void)rmdir(fixture->directory);
    (void)rmdir(fixture->parent);
    return rmdir(fixture->folder);
}

static struct leat_tuner_key key_of(const struct leat_tuner_store *store, int i) {
    uint8_t digest[LEAT_DIGEST_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
    struct leat_tuner_key key;

    leat_tuner_store_key(store, digest, unpinned, &key);
    return key;
}

static struct leat_tuner_memory memory_of(int i) {
    return (struct leat_tuner_memory){.knobs = {.of = {4096 + (uint64_t)i, 2, 3, 4}}};
}

static void keep(const struct leat_tuner_store *store, int i) {
    struct leat_tuner_memory memory = memory_of(i);
    struct leat_tuner_key key = key_of(store, i);
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_tuner_store_write(store, &key, &memory, &err), 0);
}

static int recall(const struct leat_tuner_store *store, int i,
                  struct leat_tuner_memory *ret_memory) {
    struct leat_tuner_key key = key_of(store, i);
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_tuner_store_read(store, &key, ret_memory, &err);

    assert_int_equal(err.code, r == -ENOENT ? 0 : r);
    return r;
}

static void test_keeps(void **state) {
    struct fixture *fixture = *state;
    struct leat_tuner_store other;
    struct leat_tuner_memory memory;

    assert_int_equal(recall(&fixture->store, 1, &memory), -ENOENT);
    keep(&fixture->store, 1);
    keep(&fixture->store, 1);
    assert_int_equal(recall(&fixture->store, 1, &memory), 0);
    assert_int_equal(memory.knobs.of[0], 4097);
    assert_int_equal(recall(&fixture->store, 2, &memory), -ENOENT);
    leat_tuner_store_init(&other, fixture->parent, 5, 0); /* another number of workers */
    assert_int_equal(recall(&other, 1, &memory), -ENOENT);
    leat_tuner_store_init(&other, fixture->parent, 4, 1 << 30);
    assert_int_equal(recall(&other, 1, &memory), -ENOENT);
    assert_int_equal(for_each(fixture, NULL), 1);
}

static void damage(const char *path) {
    FILE *file = fopen(path, "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, 40, SEEK_SET), 0);
    assert_int_equal(fputc('X', file), 'X');
    assert_int_equal(fclose(file), 0);
}

static void make_fifo(const char *path) {
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_damaged(void **state) {
    struct fixture *fixture = *state;
    struct leat_tuner_memory memory;

    keep(&fixture->store, 1);
    (void)for_each(fixture, damage);
    assert_int_equal(recall(&fixture->store, 1, &memory), -EINVAL);
    keep(&fixture->store, 1);
    assert_int_equal(recall(&fixture->store, 1, &memory), 0);
    (void)for_each(fixture, make_fifo); /* nobody waits for it */
    assert_true(recall(&fixture->store, 1, &memory) < 0);
}

static void test_bounded(void **state) {
    struct fixture *fixture = *state;
    struct leat_tuner_memory memory;

    for (int i = 0; i < LEAT_TUNER_STORE_FILES + 20; i++)
        keep(&fixture->store, i);
    assert_int_equal(for_each(fixture, NULL), LEAT_TUNER_STORE_FILES);
    assert_int_equal(recall(&fixture->store, LEAT_TUNER_STORE_FILES + 19, &memory), 0);
    assert_int_equal(recall(&fixture->store, 0, &memory), -ENOENT);
}

static void test_nowhere(void **state) {
    struct leat_tuner_store store;
    struct leat_tuner_memory memory = memory_of(1);
    struct leat_tuner_key key;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    leat_tuner_store_init(&store, "/proc/nothing/here", 1, 0);
    key = key_of(&store, 1);
    assert_true(leat_tuner_store_write(&store, &key, &memory, &err) < 0);
    assert_true(err.message[0] != '\0');
    store.folder.path[0] = '\0';
    assert_int_equal(leat_tuner_store_write(&store, &key, &memory, &err), 0);
    assert_int_equal(recall(&store, 1, &memory), -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keeps, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_damaged, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_bounded, open_fixture, close_fixture),
        cmocka_unit_test(test_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
