/* test_data_kept.c: pipeline/plan/data_kept.c: files that were identified are not read again by
 * another process, unless they may have changed. Nothing that is damaged or foreign is believed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/plan/data_kept.h"
#include "tests/pipeline/shared_stream.h"

#define N_FILES    8
#define FILE_BYTES (200U << 10)

static char kept_path[512]; /* of the one file that is kept */

static const char *name_of(int i) {
    static char name[32];

    (void)snprintf(name, sizeof(name), "data/%02d.csv", i);
    return name;
}

static void write_file(int i, char mark) {
    static char text[FILE_BYTES];

    memset(text, mark, sizeof(text));
    memcpy(text, "id\n", 3);
    text[sizeof(text) - 1] = '\n';
    folder_write(name_of(i), text, sizeof(text));
}

static void find_kept(void) {
    const char *path = folder_path("state/files");
    DIR *directory = opendir(path);
    struct dirent *entry;

    kept_path[0] = '\0';
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.') {
            assert_string_equal(kept_path, "");
            (void)snprintf(kept_path, sizeof(kept_path), "%s/%s", path, entry->d_name);
        }
    if (directory)
        (void)closedir(directory);
}

/* As if it had been written that much later. */
static void age(int seconds) {
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    struct stat status;

    assert_int_equal(stat(kept_path, &status), 0);
    times[1] = status.st_mtim;
    times[1].tv_sec += seconds;
    assert_int_equal(utimensat(AT_FDCWD, kept_path, times, 0), 0);
}

struct seen {
    uint64_t n_read_bytes;
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_error failure;
};

static struct leat_plan *plan_of(const char *options) {
    return stream_plan("csv: {paths: data}", options,
                       "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                       "- batch: {batch_size: 2}");
}

static struct seen identify(const char *options) {
    struct leat_plan *plan = plan_of(options);
    struct seen seen = {.failure = LEAT_ERROR_INIT};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_data_kept kept;
    char state[300];

    (void)snprintf(state, sizeof(state), "%s", folder_path("state"));
    leat_data_kept_init(&kept, state);
    assert_int_equal(
        leat_data_kept_identify(&kept, plan, &leat_opener_any, NULL, &seen.failure, &err), 0);
    seen.n_read_bytes = plan->data->n_read_bytes;
    memcpy(seen.digest, plan->data_digest, sizeof(seen.digest));
    leat_plan_unref(plan);
    return seen;
}

/* Identifies the data and says what its digest is without anything kept. */
static struct seen check(uint64_t n_read_bytes) {
    struct leat_plan *plan = plan_of("");
    struct leat_error err = LEAT_ERROR_INIT;
    struct seen seen = identify("");

    assert_int_equal(leat_plan_identify_data(plan, &leat_opener_any, NULL, &err), 0);
    assert_memory_equal(plan->data_digest, seen.digest, sizeof(seen.digest));
    assert_int_equal(seen.n_read_bytes, n_read_bytes);
    leat_plan_unref(plan);
    return seen;
}

static int set_up(void **state) {
    (void)state;
    (void)mkdir(folder_path("data"), 0700);
    for (int i = 0; i < N_FILES; i++)
        write_file(i, '1');
    find_kept();
    if (kept_path[0])
        assert_int_equal(unlink(kept_path), 0);
    (void)identify("");
    find_kept();
    assert_string_not_equal(kept_path, "");
    return 0;
}

static void test_known(void **state) {
    (void)state;
    (void)check((uint64_t)N_FILES * FILE_BYTES); /* All files have just changed. */
    age(10);
    (void)check(0);
    assert_int_equal(identify("verify: full\n").n_read_bytes, (uint64_t)N_FILES * FILE_BYTES);
}

/* Its times are set back, but that of the change of the inode is not. */
static void test_changed(void **state) {
    struct timespec times[2];
    struct stat before, after;

    (void)state;
    assert_int_equal(stat(folder_path(name_of(3)), &before), 0);
    (void)usleep(20000);
    write_file(3, '2');
    times[0] = before.st_atim;
    times[1] = before.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, folder_path(name_of(3)), times, 0), 0);
    assert_int_equal(stat(folder_path(name_of(3)), &after), 0);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    assert_int_equal(after.st_ino, before.st_ino);
    age(10);
    (void)check(FILE_BYTES);
}

/* A file of the same size and time takes its place; another one is new, and comes first. */
static void test_replaced(void **state) {
    struct timespec times[2];
    struct stat before;

    (void)state;
    age(10);
    assert_int_equal(stat(folder_path(name_of(5)), &before), 0);
    folder_print("data/05.new", "x");
    write_file(N_FILES, '3');
    assert_int_equal(rename(folder_path(name_of(N_FILES)), folder_path("data/05.new")), 0);
    times[0] = before.st_atim;
    times[1] = before.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, folder_path("data/05.new"), times, 0), 0);
    assert_int_equal(rename(folder_path("data/05.new"), folder_path(name_of(5))), 0);
    folder_print("data/000.csv", "id\n1\n");
    (void)check(FILE_BYTES + 5);
    assert_int_equal(unlink(folder_path("data/000.csv")), 0);
}

static void test_damaged(void **state) {
    struct seen seen;
    struct stat status;
    char byte;
    int fd;

    (void)state;
    assert_int_equal(stat(kept_path, &status), 0);
    for (off_t at = 0; at < status.st_size; at += 97) {
        fd = open(kept_path, O_RDWR);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 8;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        (void)close(fd);
        age(10);
        seen = check((uint64_t)N_FILES * FILE_BYTES); /* and it is made anew */
        assert_int_equal(seen.failure.code, -EBADMSG);
        assert_string_equal(seen.failure.file, kept_path);
    }
    assert_int_equal(truncate(kept_path, status.st_size / 2), 0);
    assert_int_equal(check((uint64_t)N_FILES * FILE_BYTES).failure.code, -EBADMSG);
    age(10);
    assert_int_equal(check(0).failure.code, 0);
}

static void test_other_user(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    age(10);
    assert_int_equal(chown(kept_path, 65534, 65534), 0);
    assert_int_equal(check((uint64_t)N_FILES * FILE_BYTES).failure.code, -EPERM);
    age(10);
    (void)check(0);
}

/* Nothing can be written: the data is identified all the same. */
static void test_full_disk(void **state) {
    struct rlimit limit, none;
    struct seen seen;

    (void)state;
    assert_int_equal(unlink(kept_path), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 300, .rlim_max = limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    seen = identify("");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(seen.failure.code, -EFBIG);
    assert_int_equal(access(kept_path, F_OK), -1);
    (void)check((uint64_t)N_FILES * FILE_BYTES);
}

static void test_two_writers(void **state) {
    pid_t children[2];
    int status;

    (void)state;
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            int n_failed = 0;

            for (int k = 0; k < 10; k++)
                n_failed += identify("").failure.code != 0;
            _exit(n_failed);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    age(10);
    (void)check(0);
}

static void remove_folder(const char *name) {
    DIR *directory = opendir(folder_path(name));
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        (void)closedir(directory);
    (void)rmdir(folder_path(name));
}

static int close_all(void **state) {
    remove_folder("data");
    remove_folder("state/files");
    remove_folder("state");
    return folder_close(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_changed, set_up),
        cmocka_unit_test_setup(test_replaced, set_up),
        cmocka_unit_test_setup(test_damaged, set_up),
        cmocka_unit_test_setup(test_other_user, set_up),
        cmocka_unit_test_setup(test_full_disk, set_up),
        cmocka_unit_test_setup(test_two_writers, set_up),
        cmocka_unit_test_setup(test_known, set_up),
    };

    return cmocka_run_group_tests(tests, folder_open, close_all);
}
