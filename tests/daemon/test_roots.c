/* What trainers may name: regular files below the roots, by no detour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/roots.h"

/* BASE/root/{file,sub/file,link,up,dirlink,fifo,abs} and BASE/secret, BASE/rootless/file */
static char base[64];
static struct leat_roots roots;

static char *at(const char *name) {
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
    return path;
}

static void write_file(const char *name) {
    FILE *file = fopen(at(name), "w");

    assert_non_null(file);
    (void)fputs(name, file);
    (void)fclose(file);
}

static int set_up(void **state) {
    const char *path;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    (void)snprintf(base, sizeof(base), "/tmp/leat-roots-XXXXXX");
    if (!mkdtemp(base) || mkdir(at("root"), 0755) < 0 || mkdir(at("root/sub"), 0755) < 0 ||
        mkdir(at("rootless"), 0755) < 0)
        return -1;
    write_file("secret");
    write_file("root/file");
    write_file("root/sub/file");
    write_file("rootless/file");
    if (symlink("file", at("root/link")) < 0 || symlink("../secret", at("root/up")) < 0 ||
        symlink("sub", at("root/dirlink")) < 0 || symlink("/etc/passwd", at("root/abs")) < 0 ||
        symlink("/proc/self/root", at("root/magic")) < 0 || mkfifo(at("root/fifo"), 0600) < 0)
        return -1;
    path = at("root");
    return leat_roots_init(&roots, &path, 1, &err);
}

static int tear_down(void **state) {
    char command[128];

    (void)state;
    leat_roots_deinit(&roots);
    (void)snprintf(command, sizeof(command), "rm -r %s", base);
    return system(command);
}

static int try(const char *path, struct leat_error *err) {
    *err = LEAT_ERROR_INIT;
    return roots.opener.open_file(&roots.opener, path, err);
}

static void test_allowed(void **state) {
    char inside[256];
    const char *paths[] = {"file", "sub/file",          "./file",        "sub/../file",
                           inside, at("root/sub/file"), at("root//file")};
    struct leat_error err;

    (void)state;
    (void)snprintf(inside, sizeof(inside), "%s/root/file", base);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = try(paths[i], &err);

        if (fd < 0)
            fail_msg("%s: %s", paths[i], err.message);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        (void)close(fd);
    }
}

static void test_refused(void **state) {
    static const char *const relative[] = {
        "",
        "../secret",
        "sub/../../secret",
        "link",
        "up",
        "abs",
        "fifo",
        "sub",
        ".",
        "..",
        "magic/etc/passwd",
        "/",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/environ",
        "dirlink/file",
        "nosuch",
        "file/x",
    };
    static const char *const absolute[] = {
        "secret",    "root/../secret", "rootless/file", "root/up",
        "root/link", "root",           "root/fifo",     "root/magic/etc/passwd"};
    struct leat_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(relative) / sizeof(relative[0]); i++) {
        assert_true(try(relative[i], &err) < 0);
        assert_true(err.code < 0 && err.message[0]);
    }
    for (size_t i = 0; i < sizeof(absolute) / sizeof(absolute[0]); i++)
        if (try(at(absolute[i]), &err) >= 0)
            fail_msg("%s was opened", absolute[i]);
}

static void test_long_paths(void **state) {
    static char path[100000];
    struct leat_error err;

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    assert_true(try(path, &err) < 0);
    memset(path, '/', sizeof(path) - 1);
    assert_true(try(path, &err) < 0);
}

static void test_directories(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    int fd = roots.opener.open_directory(&roots.opener, "sub", &err);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    fd = roots.opener.open_directory(&roots.opener, at("root"), &err);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_true(roots.opener.open_directory(&roots.opener, "..", &err) < 0);
    assert_true(roots.opener.open_directory(&roots.opener, "dirlink", &err) < 0);
    assert_true(roots.opener.open_directory(&roots.opener, "file", &err) < 0);
    assert_true(roots.opener.open_directory(&roots.opener, base, &err) < 0);
}

static void test_no_roots(void **state) {
    struct leat_roots none;
    struct leat_error err = LEAT_ERROR_INIT;
    const char *missing = "/nonexistent/directory";

    (void)state;
    assert_int_equal(leat_roots_init(&none, NULL, 0, &err), 0);
    assert_true(none.opener.open_file(&none.opener, at("root/file"), &err) < 0);
    leat_roots_deinit(&none);
    err = LEAT_ERROR_INIT;
    assert_true(leat_roots_init(&none, &missing, 1, &err) < 0);
}

/* A directory that is swapped for a link between two tries never lets out what lies outside. */
static void test_swapped_link(void **state) {
    struct leat_error err;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            (void)rename(at("root/sub"), at("root/aside"));
            if (symlink("../rootless", at("root/sub")) == 0)
                (void)unlink(at("root/sub"));
            (void)rename(at("root/aside"), at("root/sub"));
        }
    }
    for (int i = 0; i < 20000; i++) {
        char text[32] = "";
        int fd = try("sub/file", &err);

        if (fd < 0)
            continue;
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_string_equal(text, "root/sub/file");
        (void)close(fd);
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_long_paths), cmocka_unit_test(test_directories),
        cmocka_unit_test(test_no_roots),   cmocka_unit_test(test_swapped_link),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
