/* test_files.c: pipeline/io/files.c and opener.c, on a folder of its own. */
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

#include "pipeline/io/files.h"

static char folder[] = "/tmp/leat-test-files-XXXXXX";

static const char *const made[] = {"b.csv",
                                   "a.csv",
                                   "a10.csv",
                                   "a2.csv",
                                   ".hidden.csv",
                                   "d1/x.csv",
                                   "d1/y.json",
                                   "d2/x.csv",
                                   "[z].csv",
                                   "t/b.txt",
                                   "t/a/z.txt",
                                   "t/a/y.txt.gz",
                                   "t/c.bin",
                                   "t/.no/x.txt",
                                   "t/a.txt",
                                   "t/b/.hid.txt",
                                   "s-08.txt",
                                   "s-09.txt",
                                   "s-10.txt",
                                   "s{1..}.txt",
                                   "s-8.txt",
                                   "s-9.txt",
                                   "s-8",
                                   "s-9",
                                   "101",
                                   "102",
                                   "201",
                                   "202",
                                   "{1,2}",
                                   "{-1..2}",
                                   "{0000000000..2}"};
static const char *const folders[] = {"d1", "d2", "d3", "t", "t/a", "t/b", "t/.no"};

static void put(const char *name, const char *text) {
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state) {
    char path[256];

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        if (mkdir(path, 0700) < 0)
            return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/t/loop", folder);
    if (symlink("..", path) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/t/link.txt", folder);
    if (symlink("a.txt", path) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
        put(made[i], made[i]);
    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    return mkfifo(path, 0600);
}

static int tear_down(void **state) {
    char path[256];

    (void)state;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, made[i]);
        (void)unlink(path);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const others[] = {"fifo", "t/loop", "t/link.txt"};
        (void)snprintf(path, sizeof(path), "%s/%s", folder, others[i]);
        (void)unlink(path);
    }
    for (size_t i = sizeof(folders) / sizeof(*folders); i-- > 0;) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        (void)rmdir(path);
    }
    return rmdir(folder);
}

/* `want`: the paths below the folder with blanks between. */
static void check_suffixes(const char *const *entries, size_t n_entries, const char *base,
                           const struct leat_texts *suffixes, const char *want) {
    char got[1024] = "";
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_files files;
    int r = leat_files_expand(&files, entries, n_entries, base, suffixes, &leat_opener_any, &err);

    if (r < 0)
        fail_msg("%s: %s", entries[0], err.message);
    for (size_t i = 0; i < files.n_paths; i++) {
        assert_memory_equal(files.paths[i], folder, strlen(folder));
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? " " : "",
                       files.paths[i] + strlen(folder) + 1);
    }
    assert_string_equal(got, want);
    leat_files_deinit(&files);
}

static void check(const char *const *entries, size_t n_entries, const char *base,
                  const char *want) {
    check_suffixes(entries, n_entries, base, NULL, want);
}

static void check_one(const char *entry, const char *want) {
    check(&entry, 1, folder, want);
}

static void matches_in_order(void **state) {
    char absolute[256];
    const char *list[] = {"b.csv", "a*.csv", "b.csv", "d?/x.csv"};
    const char *entry = absolute;

    (void)state;
    check_one("a.csv", "a.csv");
    check_one("*.csv", "[z].csv a.csv a10.csv a2.csv b.csv");
    check_one(".h*", ".hidden.csv");
    check_one("[ab].csv", "a.csv b.csv");
    check_one("a?.csv", "a2.csv");
    check_one("d*/*", "d1/x.csv d1/y.json d2/x.csv");
    check_one("d[12]/x.csv", "d1/x.csv d2/x.csv");
    check_one("*/y.json", "d1/y.json");
    check_one("\\[z\\]*", "[z].csv");
    check(list, 4, folder, "b.csv a.csv a10.csv a2.csv b.csv d1/x.csv d2/x.csv");
    (void)snprintf(absolute, sizeof(absolute), "%s/a?.csv", folder);
    check(&entry, 1, "/nowhere", "a2.csv");
}

static void goes_through_ranges(void **state) {
    (void)state;
    check_one("s-{08..10}.txt", "s-08.txt s-09.txt s-10.txt");
    check_one("s-{10..08}.txt", "s-10.txt s-09.txt s-08.txt");
    check_one("s-{8..10}.txt", "s-8.txt s-9.txt s-10.txt");
    check_one("{1..2}{01..2}", "101 102 201 202");
    check_one("s-{08..8}.t[x]t", "s-08.txt");
    check_one("d{1..2}/*.csv", "d1/x.csv d2/x.csv");
    check_one("s{1..}.txt", "s{1..}.txt");
    check_one("{1,2}", "{1,2}");
    check_one("{-1..2}", "{-1..2}");
    check_one("{0000000000..2}", "{0000000000..2}");
}

static void goes_through_directories(void **state) {
    char *suffix[] = {(char *)(uintptr_t) ".txt"};
    struct leat_texts texts = {suffix, 1};
    const char *entry = "t";

    (void)state;
    check_one("t", "t/a/y.txt.gz t/a/z.txt t/a.txt t/b.txt t/c.bin t/link.txt");
    check_one("t/", "t/a/y.txt.gz t/a/z.txt t/a.txt t/b.txt t/c.bin t/link.txt");
    check_one("[t]", "t/a/y.txt.gz t/a/z.txt t/a.txt t/b.txt t/c.bin t/link.txt");
    check_one("d{1..2}", "d1/x.csv d1/y.json d2/x.csv");
    check_suffixes(&entry, 1, folder, &texts, "t/a/y.txt.gz t/a/z.txt t/a.txt t/b.txt t/link.txt");
    suffix[0] = (char *)(uintptr_t) "b.txt";
    check_suffixes(&entry, 1, folder, &texts, "t/b.txt");
}

static void names_as_the_entry_would(void **state) {
    static const char *const entries[] = {"a.csv", "d?/x.csv", "t/a", "s-{8..9}"};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_files files;
    char absolute[256];
    const char *entry = absolute;

    (void)state;
    assert_int_equal(leat_files_expand(&files, entries, 4, folder, NULL, &leat_opener_any, &err),
                     0);
    assert_int_equal(files.n_paths, 7);
    assert_string_equal(files.names[0], "a.csv");
    assert_string_equal(files.names[2], "d2/x.csv");
    assert_string_equal(files.names[4], "t/a/z.txt");
    assert_string_equal(files.names[6], "s-9");
    leat_files_deinit(&files);
    (void)snprintf(absolute, sizeof(absolute), "%s/a.csv", folder);
    assert_int_equal(leat_files_expand(&files, &entry, 1, folder, NULL, &leat_opener_any, &err), 0);
    assert_string_equal(files.names[0], absolute);
    leat_files_deinit(&files);
    entry = "-";
    assert_int_equal(leat_files_expand(&files, &entry, 1, folder, NULL, &leat_opener_any, &err), 0);
    assert_string_equal(files.paths[0], "-");
    leat_files_deinit(&files);
}

static void says_what_matches_nothing(void **state) {
    static const char *const entries[] = {"c*.csv", "d3/*",     "d9*/x",        "a.csv/*",
                                          "",       "d3",       "x{1..3}*",     "{0..999999999}",
                                          "no.csv", "no/a.csv", "s-{9..12}.txt"};

    (void)state;
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_files files;
        int r = leat_files_expand(&files, &entries[i], 1, folder, NULL, &leat_opener_any, &err);
        assert_true(r < 0);
        assert_string_equal(err.path, "paths[0]");
        assert_non_null(
            strstr(err.message, i == 4 ? "the path is empty: give a file, a directory or a pattern"
                                : i == 6  ? "x1*"
                                : i == 10 ? "s-11.txt: No such file"
                                          : entries[i]));
        assert_int_equal(files.n_paths, 0);
    }
}

/* The printed error of an entry, in the folder, with a suffix or NULL. */
static void check_error(const char *entry, const char *suffix, int code, const char *message) {
    char *suffixes[] = {(char *)(uintptr_t)suffix};
    struct leat_texts texts = {suffixes, suffix ? 1 : 0};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_files files;
    int r = leat_files_expand(&files, &entry, 1, folder, &texts, &leat_opener_any, &err);

    if (r != code || !strstr(err.message, message))
        fail_msg("%s: %d %s", entry, r, err.message);
    assert_int_equal(files.n_paths, 0);
}

static void says_what_is_wrong_with_an_entry(void **state) {
    char path[2 * 1024], name[300];
    size_t n_folder;

    (void)state;
    check_error("t/b", ".txt", -ENOENT, "t/b: the directory has no file that matches `suffix`");
    check_error("t/a/", ".csv", -ENOENT, "the directory has no file that matches `suffix`");
    check_error("t/b", NULL, -ENOENT, "t/b: the directory has no file");
    memset(name, 'x', sizeof(name));
    memcpy(name + 295, "*", 2);
    check_error(name, NULL, -ENAMETOOLONG, "a file name is longer than 255 bytes");
    name[255] = '\0';
    check_error(name, NULL, -ENOENT, name);
    check_error("http://h/a*", NULL, -EINVAL, "leat cannot list the files of a web server");
    check_error("http://h/a?b=c", NULL, -EINVAL, "must not have a query");
    check_error("s3://b*/x", NULL, -EINVAL, "the URL needs a bucket and a slash");
    /* folders in folders */
    (void)snprintf(path, sizeof(path), "%s/deep", folder);
    n_folder = strlen(path);
    for (int i = 0; i < 70; i++) {
        assert_int_equal(mkdir(path, 0700), 0);
        (void)strcat(path, "/d");
    }
    check_error("deep", NULL, -ELOOP, "directories are nested more than 64 deep");
    for (size_t n = strlen(path) - 2; n >= n_folder; n -= 2) {
        path[n] = '\0';
        assert_int_equal(rmdir(path), 0);
    }
}

static void joins(void **state) {
    static const struct {
        const char *base, *path, *joined;
    } cases[] = {
        {NULL, "a", "a"},  {"x", "a", "x/a"}, {"x/", "a", "x/a"},
        {"x", "/a", "/a"}, {"/", "a", "/a"},
    };
    static const char *const directories[][2] = {
        {"a", "."}, {"x/a", "x"}, {"/a", "/"}, {"/x/y/a", "/x/y"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *joined = leat_files_join(cases[i].base, cases[i].path);
        assert_string_equal(joined, cases[i].joined);
        free(joined);
    }
    for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
        char *directory = leat_files_directory(directories[i][0]);
        assert_string_equal(directory, directories[i][1]);
        free(directory);
    }
}

static void opens_regular_files_only(void **state) {
    static const struct {
        const char *name, *message;
    } cases[] = {{"none.csv", "No such file or directory"},
                 {"d1", "is not a regular file"},
                 {"fifo", "is not a regular file"}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        char path[256];
        int fd;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, cases[i].name);
        fd = leat_opener_any.open_stream(&leat_opener_any, path, &err);
        assert_int_equal(fd >= 0, i == 2); /* a FIFO is, where it is read once */
        if (fd >= 0)
            (void)close(fd);
        err = LEAT_ERROR_INIT;
        assert_true(leat_opener_any.open_file(&leat_opener_any, path, &err) < 0);
        assert_memory_equal(err.message, path, strlen(path));
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

static void reads_up_to_the_limit(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    char path[256], *data;
    size_t size;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/a10.csv", folder);
    assert_int_equal(leat_opener_read(&leat_opener_any, path, 7, &data, &size, &err), 0);
    assert_int_equal(size, 7);
    assert_string_equal(data, "a10.csv");
    free(data);
    assert_int_equal(leat_opener_read(&leat_opener_any, path, 6, &data, &size, &err), -EFBIG);
    assert_memory_equal(err.message, path, strlen(path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_in_order),
        cmocka_unit_test(goes_through_ranges),
        cmocka_unit_test(goes_through_directories),
        cmocka_unit_test(names_as_the_entry_would),
        cmocka_unit_test(says_what_matches_nothing),
        cmocka_unit_test(joins),
        cmocka_unit_test(says_what_is_wrong_with_an_entry),
        cmocka_unit_test(opens_regular_files_only),
        cmocka_unit_test(reads_up_to_the_limit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
