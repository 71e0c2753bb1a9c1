/* What trainers may name: regular files below the roots, by no detour. All tests run with openat2,
 * and where a filter of system calls answers ENOSYS or EPERM in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/config/roots.h"

/* BASE/root/{file,sub/file,sub/deep,sub/back,link,up,dirlink,fifo,abs} and BASE/secret,
 * BASE/rootless/file */
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
        mkdir(at("root/sub/deep"), 0755) < 0 || mkdir(at("rootless"), 0755) < 0)
        return -1;
    write_file("secret");
    write_file("root/file");
    write_file("root/sub/file");
    write_file("rootless/file");
    if (symlink("file", at("root/link")) < 0 || symlink("../secret", at("root/up")) < 0 ||
        symlink("sub", at("root/dirlink")) < 0 || symlink("..", at("root/sub/back")) < 0 ||
        symlink("/etc/passwd", at("root/abs")) < 0 ||
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
    const char *paths[] = {"file",
                           "sub/file",
                           "./file",
                           "sub/../file",
                           inside,
                           at("root/sub/file"),
                           at("root//file"),
                           "././/sub//./file",
                           "sub/deep/../../sub/file",
                           "sub/./deep/.././../file",
                           "sub/../sub/deep/../file"};
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

/* Names below BASE/root if the first is not '/' and not "BASE/". */
static const struct {
    const char *path;
    int code;
    const char *message; /* in it */
} refused[] = {
    {"", -EINVAL, "a path has 0 bytes"},
    {"../secret", -EACCES, "is outside the folders"},
    {"sub/../../secret", -EACCES, "is outside the folders"},
    {"sub/deep/../../../secret", -EACCES, "is outside the folders"},
    {"sub/../../root/file", -EACCES, "is outside the folders"},
    {"..", -EACCES, "is outside the folders"},
    {"../", -EACCES, "is outside the folders"},
    {"sub/../..", -EACCES, "is outside the folders"},
    {"/", -EACCES, "is outside the folders"},
    {"/etc/passwd", -EACCES, "is outside the folders"},
    {"/proc/self/root/etc/passwd", -EACCES, "is outside the folders"},
    {"/proc/self/environ", -EACCES, "is outside the folders"},
    {"link", -EACCES, "symbolic link"},
    {"up", -EACCES, "symbolic link"},
    {"abs", -EACCES, "symbolic link"},
    {"link/", -EACCES, "symbolic link"},
    {"link/.", -EACCES, "symbolic link"},
    {"magic", -EACCES, "symbolic link"},
    {"magic/etc/passwd", -EACCES, "symbolic link"},
    {"dirlink/file", -EACCES, "symbolic link"},
    {"dirlink/../file", -EACCES, "symbolic link"},
    {"dirlink/..", -EACCES, "symbolic link"},
    {"sub/back/file", -EACCES, "symbolic link"},
    {"fifo", -EACCES, "is not a regular file"},
    {"sub", -EACCES, "is not a regular file"},
    {"sub/", -EACCES, "is not a regular file"},
    {"sub/..", -EACCES, "is not a regular file"},
    {".", -EACCES, "is not a regular file"},
    {"./.", -EACCES, "is not a regular file"},
    {"nosuch", -ENOENT, "No such file"},
    {"nosuch/", -ENOENT, "No such file"},
    {"nosuch/../file", -ENOENT, "No such file"},
    {"sub/nosuch/file", -ENOENT, "No such file"},
    {"file/", -ENOTDIR, "Not a directory"},
    {"file/x", -ENOTDIR, "Not a directory"},
    {"file/.", -ENOTDIR, "Not a directory"},
    {"file/..", -ENOTDIR, "Not a directory"},
    {"file/../file", -ENOTDIR, "Not a directory"},
    {"fifo/x", -ENOTDIR, "Not a directory"},
    {"BASE/secret", -EACCES, "is outside the folders"},
    {"BASE/root/../secret", -EACCES, "is outside the folders"},
    {"BASE/rootless/file", -EACCES, "is outside the folders"},
    {"BASE/root/up", -EACCES, "symbolic link"},
    {"BASE/root/link", -EACCES, "symbolic link"},
    {"BASE/root/magic/etc/passwd", -EACCES, "symbolic link"},
    {"BASE/root", -EACCES, "is not a regular file"},
    {"BASE/root/fifo", -EACCES, "is not a regular file"},
};

static void test_refused(void **state) {
    struct leat_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        const char *path = refused[i].path;

        if (try(strncmp(path, "BASE/", 5) == 0 ? at(path + 5) : path, &err) >= 0)
            fail_msg("%s was opened", path);
        if (err.code != refused[i].code || !strstr(err.message, refused[i].message))
            fail_msg("%s: %d: %s", path, err.code, err.message);
    }
}

#define NOBODY 65534

/* From now on this is a user with no more rights than others: as root, somebody else. */
static void drop_rights(void) {
    if (geteuid() != 0)
        return;
    assert_int_equal(chmod(base, 0755), 0);
    assert_int_equal(chown(at("root/sub"), NOBODY, (gid_t)-1), 0);
    assert_int_equal(seteuid(NOBODY), 0);
}

/* A directory that may be entered but not read, and one that may not be entered. */
static void test_rights(void **state) {
    struct leat_error err;
    int fd;

    (void)state;
    drop_rights();
    assert_int_equal(chmod(at("root/sub"), 0111), 0);
    fd = try("sub/file", &err);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(chmod(at("root/sub"), 0444), 0);
    assert_int_equal(try("sub/file", &err), -EACCES);
    assert_int_equal(try("sub/../file", &err), -EACCES);
    assert_int_equal(try("sub/./../file", &err), -EACCES);
    assert_int_equal(chmod(at("root/sub"), 0755), 0);
    if (geteuid() != getuid()) /* the unit denies even what changes nothing */
        assert_int_equal(seteuid(getuid()), 0);
}

static void test_long_paths(void **state) {
    static char path[100000];
    struct leat_error err;

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    assert_true(try(path, &err) < 0);
    memset(path, '/', sizeof(path) - 1);
    assert_true(try(path, &err) < 0);
    memset(path, 'a', NAME_MAX + 1);
    path[NAME_MAX + 1] = '\0';
    assert_int_equal(try(path, &err), -ENAMETOOLONG);
    for (size_t i = 0; i + 1 < PATH_MAX; i++)
        path[i] = "sub/../"[i % 7];
    path[PATH_MAX - 1] = '\0';
    memcpy(path + (PATH_MAX - 1) / 7 * 7 - 7, "///file", 8);
    assert_int_equal(close(try(path, &err)), 0);
}

static void test_directories(void **state) {
    static const struct {
        const char *path;
        int code;
    } others[] = {
        {".", 0},           {"sub/", 0},        {"sub/deep/..", 0},
        {"sub/..", 0},      {"..", -EACCES},    {"dirlink", -ENOTDIR},
        {"file", -ENOTDIR}, {"fifo", -ENOTDIR}, {"dirlink/", -EACCES},
    };
    struct leat_error err = LEAT_ERROR_INIT;
    int fd = roots.opener.open_directory(&roots.opener, "sub", &err);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    fd = roots.opener.open_directory(&roots.opener, at("root"), &err);
    assert_true(fd >= 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        err = LEAT_ERROR_INIT;
        fd = roots.opener.open_directory(&roots.opener, others[i].path, &err);
        assert_int_equal(fd < 0 ? fd : close(fd), others[i].code);
    }
    err = LEAT_ERROR_INIT;
    assert_int_equal(roots.opener.open_directory(&roots.opener, base, &err), -EACCES);
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

/* From now on openat2 fails with `code` in this process. */
static void deny_openat2(unsigned code) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ||
        syscall(SYS_openat2, AT_FDCWD, ".", NULL, 0) == 0 || errno != (int)code)
        exit(2);
}

static int run_group(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rights),       cmocka_unit_test(test_long_paths),
        cmocka_unit_test(test_directories),  cmocka_unit_test(test_no_roots),
        cmocka_unit_test(test_swapped_link),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void) {
    static const unsigned denials[] = {0, ENOSYS, EPERM};
    int status = 0, n_failed = 0;

    for (size_t i = 0; i < sizeof(denials) / sizeof(*denials); i++) {
        pid_t child = fork();

        if (child == 0) {
            if (denials[i] && getenv("LEAT_TEST_EMULATED")) {
                (void)printf("skipped: without openat2: qemu has no seccomp filters\n");
                exit(0);
            }
            if (denials[i])
                deny_openat2(denials[i]);
            exit(run_group());
        }
        n_failed += child < 0 || waitpid(child, &status, 0) < 0 || status != 0;
    }
    return n_failed;
}
