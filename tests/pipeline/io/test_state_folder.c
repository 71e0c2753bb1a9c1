/* test_state_folder.c: pipeline/io/state_folder.c: where it is, what it keeps, and what it refuses
 * to read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/io/state_folder.h"
#include "tests/pipeline/shared_stream.h"

#define SUFFIX ".test"

static struct leat_state_folder folder_of(size_t max_files, size_t max_bytes) {
    struct leat_state_folder folder;

    leat_state_folder_init(&folder, folder_path("state/deep"), "kept", SUFFIX, max_files,
                           max_bytes);
    return folder;
}

static int set_or_unset(const char *name, const char *value) {
    return value ? setenv(name, value, 1) : unsetenv(name);
}

static void it_is_where_the_environment_says(void **state) {
    static char long_path[5000] = "/";
    const struct {
        const char *directory, *of_service, *of_user, *home, *path;
    } rows[] = {
        {"/d", "/s", "/x", "/h", "/d/n"},
        {"d", NULL, NULL, NULL, "d/n"},
        {NULL, "/s", "/x", "/h", "/s/n"},
        {NULL, "/s:/t", "/x", "/h", "/s/n"},
        {NULL, "s", "/x", "/h", "/x/leat/n"},
        {NULL, "", "/x", "/h", "/x/leat/n"},
        {NULL, NULL, "x", "/h", "/h/.local/state/leat/n"},
        {NULL, NULL, NULL, "/h", "/h/.local/state/leat/n"},
        {NULL, NULL, NULL, "h", ""},
        {NULL, NULL, "", "", ""},
        {NULL, NULL, NULL, NULL, ""},
        {long_path, NULL, NULL, NULL, ""},
    };

    (void)state;
    memset(long_path + 1, 'x', sizeof(long_path) - 2);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_state_folder folder;
        char *data;
        size_t n;
        assert_int_equal(set_or_unset("STATE_DIRECTORY", rows[k].of_service), 0);
        assert_int_equal(set_or_unset("XDG_STATE_HOME", rows[k].of_user), 0);
        assert_int_equal(set_or_unset("HOME", rows[k].home), 0);
        leat_state_folder_init(&folder, rows[k].directory, "n", SUFFIX, 1, 1);
        assert_string_equal(folder.path, rows[k].path);
        if (folder.path[0])
            continue;
        assert_int_equal(leat_state_folder_write(&folder, "a", "b", 1, &err),
                         0); /* keeps nothing */
        assert_int_equal(leat_state_folder_read(&folder, "a", 9, &data, &n, &err), -ENOENT);
        assert_false(leat_state_folder_touch(&folder, "a"));
        assert_int_equal(err.code, 0);
    }
}

static void check_file(const struct leat_state_folder *folder, const char *name, const char *text) {
    struct leat_error err = LEAT_ERROR_INIT;
    char *data = NULL;
    size_t n = 0;
    int r = leat_state_folder_read(folder, name, 100, &data, &n, &err);

    assert_int_equal(r, text ? 0 : -ENOENT);
    assert_int_equal(err.code, 0);
    if (text) {
        assert_int_equal(n, strlen(text));
        assert_string_equal(data, text);
    }
    free(data);
}

static void write_file(const struct leat_state_folder *folder, const char *name, const char *text) {
    assert_int_equal(leat_state_folder_write(folder, name, text, strlen(text), LEAT_ERROR_IGNORED),
                     0);
}

static void make_old(const struct leat_state_folder *folder, const char *name, int seconds) {
    struct timespec times[2] = {{.tv_sec = 1000 - seconds}, {.tv_sec = 1000 - seconds}};
    char path[5000];

    (void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void files_come_back(void **state) {
    struct leat_state_folder folder = folder_of(10, 1000);
    struct leat_error err = LEAT_ERROR_INIT;
    int64_t written_ns;
    char *data;
    size_t n;

    (void)state;
    check_file(&folder, "a", NULL);
    write_file(&folder, "a", "text");
    check_file(&folder, "a", "text");
    write_file(&folder, "a", "");
    check_file(&folder, "a", "");
    write_file(&folder, "b-1", "other");
    check_file(&folder, "b-1", "other");
    make_old(&folder, "b-1" SUFFIX, 0);
    assert_int_equal(leat_state_folder_read_own(&folder, "b-1", 5, &data, &n, &written_ns, &err),
                     0);
    assert_int_equal(written_ns, INT64_C(1000000000000));
    free(data);
    assert_true(leat_state_folder_touch(&folder, "b-1"));
    assert_false(leat_state_folder_touch(&folder, "c"));
}

static void the_oldest_go_first(void **state) {
    struct leat_state_folder folder = folder_of(3, 100), small = folder_of(10, 12);
    static const char *const foreign[] = {"UPPER" SUFFIX, "x.other", SUFFIX};
    char path[5000];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int fd;
        (void)snprintf(path, sizeof(path), "%s/%s", folder.path, foreign[i]);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
        (void)close(fd);
        make_old(&folder, foreign[i], 500);
    }
    (void)snprintf(path, sizeof(path), "%s/.left" SUFFIX ".77", folder.path);
    (void)close(
        open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); /* of a process that was killed */
    make_old(&folder, ".left" SUFFIX ".77", 400);
    make_old(&folder, "a" SUFFIX, 300);
    make_old(&folder, "b-1" SUFFIX, 200);
    write_file(&folder, "c", "ccc");
    assert_int_equal(access(path, F_OK), -1);
    check_file(&folder, "a", "");
    make_old(&folder, "c" SUFFIX, 100);
    assert_true(leat_state_folder_touch(&folder, "a"));
    write_file(&folder, "d", "ddd"); /* there may be three */
    check_file(&folder, "b-1", NULL);
    check_file(&folder, "a", "");
    check_file(&folder, "c", "ccc");
    make_old(&folder, "a" SUFFIX, 300);
    make_old(&folder, "d" SUFFIX, 50);
    write_file(&small, "e", "0123456789");
    check_file(&small, "a", NULL);
    check_file(&small, "c", NULL);
    check_file(&small, "d", NULL); /* 3 + 10 bytes are too many */
    check_file(&small, "e", "0123456789");
    write_file(&small, "e", "more than all of them"); /* one file may be larger */
    check_file(&small, "e", "more than all of them");
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder.path, foreign[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
}

static void what_is_no_file_is_not_read(void **state) {
    struct leat_state_folder folder = folder_of(100, 100000);
    static const struct {
        const char *name, *message;
        int code;
    } rows[] = {
        {"folder", "cannot read the file: Invalid argument", -EINVAL},
        {"pipe", "cannot read the file: Invalid argument", -EINVAL},
        {"link", "cannot read the file: ", -ELOOP},
        {"large", "cannot read the file: File too large", -EFBIG},
    };
    char path[5000];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/folder" SUFFIX, folder.path);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/pipe" SUFFIX, folder.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof(path), "%s/link" SUFFIX, folder.path);
    assert_int_equal(symlink("e" SUFFIX, path), 0);
    write_file(&folder, "large", "0123456789");
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_error err = LEAT_ERROR_INIT;
        char *data;
        size_t n;
        assert_int_equal(leat_state_folder_read(&folder, rows[k].name, 9, &data, &n, &err),
                         rows[k].code);
        assert_non_null(strstr(err.message, rows[k].message));
        (void)snprintf(path, sizeof(path), "%s/%s" SUFFIX, folder.path, rows[k].name);
        assert_string_equal(err.file, path);
    }
}

static void files_of_others_are_not_relied_on(void **state) {
    struct leat_state_folder folder = folder_of(100, 100000);
    struct leat_error err = LEAT_ERROR_INIT;
    int64_t written_ns;
    char path[5000], *data;
    size_t n;

    (void)state;
    write_file(&folder, "own", "text");
    (void)snprintf(path, sizeof(path), "%s/own" SUFFIX, folder.path);
    if (chown(path, 12345, (gid_t)-1) < 0)
        return; /* only root can give it away */
    assert_int_equal(leat_state_folder_read_own(&folder, "own", 9, &data, &n, &written_ns, &err),
                     -EPERM);
    assert_non_null(strstr(err.message, "it belongs to another user"));
    check_file(&folder, "own", "text");
}

static void what_cannot_be_written_is_told(void **state) {
    struct leat_state_folder folder = folder_of(100, 100000);
    struct leat_error err = LEAT_ERROR_INIT;
    char path[5000];

    (void)state;
    assert_int_equal(leat_state_folder_write(&folder, "folder", "x", 1, &err), -EISDIR);
    (void)snprintf(path, sizeof(path), "%s/folder" SUFFIX ": cannot write the file: ", folder.path);
    assert_memory_equal(err.message, path, strlen(path));
    folder_write("plain", "x", 1);
    leat_state_folder_init(&folder, folder_path("plain"), "kept", SUFFIX, 1, 1);
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_state_folder_write(&folder, "a", "x", 1, &err), -ENOTDIR);
    assert_int_equal(leat_state_folder_make(folder_path("plain/a/b")), -ENOTDIR);
}

static int remove_all(void **state) {
    char command[300];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder_path("state"));
    return system(command) || folder_close(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_where_the_environment_says),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(what_is_no_file_is_not_read),
        cmocka_unit_test(files_of_others_are_not_relied_on),
        cmocka_unit_test(what_cannot_be_written_is_told),
    };

    return cmocka_run_group_tests(tests, folder_open, remove_all);
}
