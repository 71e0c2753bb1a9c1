/* test_sandbox.c: each case runs in a child, since what is given up is given up for good. */
#include "daemon/system/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/skip.h"

#define ABSENT 77

static char folder[] = "/tmp/leat-sandbox-XXXXXX";

/* The line of the first expectation that failed in the child; 0: none. ABSENT: it cannot run. */
static int in_child(int (*body)(void)) {
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            (void)fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno)); \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#define EXPECT_ERROR(call, code)                                                                   \
    do {                                                                                           \
        errno = 0;                                                                                 \
        EXPECT((call) < 0 && errno == (code));                                                     \
    } while (0)

/* ---- calls ---- */

static bool refuses_calls(int *ret_status) {
    int r = leat_sandbox_refuse_calls();

    *ret_status = r == -ENOSYS || r == -EINVAL ? ABSENT : 1;
    return r == 0;
}

/* With arguments that are wrong in another way than EPERM, so that only the filter says that. */
static int refuse_each(void) {
    static const struct {
        const char *name;
        long number;
    } calls[] = {
#define CALL(name) {#name, SYS_##name},
#include "daemon/system/sandbox_calls.def"
#undef CALL
    };
    int status;

    if (!refuses_calls(&status))
        return status;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        errno = 0;
        if (syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L) != -1 || errno != EPERM) {
            (void)fprintf(stderr, "%s: %s\n", calls[i].name, strerror(errno));
            return 1;
        }
    }
    return 0;
}

/* Works without the filter, and not with it. */
static int refuse_reading_memory(void) {
    char from = 'x', to = 0;
    struct iovec source = {&from, 1}, target = {&to, 1};
    int status;

    if (syscall(SYS_process_vm_readv, getpid(), &target, 1L, &source, 1L, 0L) != 1 || to != 'x')
        return ABSENT;
    if (!refuses_calls(&status))
        return status;
    EXPECT_ERROR(syscall(SYS_process_vm_readv, getpid(), &target, 1L, &source, 1L, 0L), EPERM);
    return 0;
}

static int refuse_namespaces(void) {
    int status;

    if (!refuses_calls(&status))
        return status;
    EXPECT_ERROR(unshare(CLONE_NEWUSER), EPERM);
    EXPECT_ERROR(unshare(CLONE_NEWNS | CLONE_FS), EPERM);
    EXPECT_ERROR(unshare(0x80 /* CLONE_NEWTIME */), EPERM);
    EXPECT_ERROR(syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L), EPERM);
    EXPECT_ERROR(syscall(SYS_clone3, NULL, 0L), ENOSYS);
    EXPECT(unshare(CLONE_FILES) == 0);
    return 0;
}

static void *give_one(void *data) {
    *(int *)data = 1;
    return data;
}

/* Threads, processes, programs and memory are as before; nothing gains privileges. */
static int allow_the_rest(void) {
    pthread_t thread;
    int status, one = 0;

    if (!refuses_calls(&status))
        return status;
    EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    EXPECT(pthread_create(&thread, NULL, give_one, &one) == 0);
    EXPECT(pthread_join(thread, NULL) == 0 && one == 1);
    EXPECT(system("exit 7") == 7 << 8);
    EXPECT(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    EXPECT(leat_sandbox_refuse_calls() == 0); /* once more is no mistake */
    return 0;
}

#ifdef __x86_64__
/* Calls of x32 and i386 have other numbers, and are all refused. */
static int refuse_foreign(void) {
    long result;
    int status;

    if (!refuses_calls(&status))
        return status;
    EXPECT_ERROR(syscall(0x40000000 | SYS_getpid), EPERM);
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
    EXPECT((int)result == -EPERM || (int)result == -ENOSYS);
    return 0;
}
#endif

static void run_case(int (*body)(void)) {
    int status = in_child(body);

    if (status == ABSENT)
        SKIP_CASE("this kernel, or its emulation, has no seccomp filters");
    assert_int_equal(status, 0);
}

static void test_each_call(void **state) {
    (void)state;
    run_case(refuse_each);
}

static void test_memory_of_others(void **state) {
    (void)state;
    run_case(refuse_reading_memory);
}

static void test_namespaces(void **state) {
    (void)state;
    run_case(refuse_namespaces);
}

static void test_the_rest(void **state) {
    (void)state;
    run_case(allow_the_rest);
}

static void test_foreign_calls(void **state) {
    (void)state;
#ifdef __x86_64__
    run_case(refuse_foreign);
#endif
}

/* ---- writes ---- */

static const char *in(const char *name) {
    static char paths[4][64];
    static unsigned i;
    char *path = paths[i++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int make(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    return fd < 0 ? -1 : close(fd);
}

static int bind_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    return bind(fd, (const struct sockaddr *)&address, sizeof(address));
}

static int limits_writes(void) {
    const char *folders[] = {in("may")};
    size_t failed;
    int r = leat_sandbox_limit_writes(folders, 1, NULL, &failed);

    return r == 0 ? 0 : r == -ENOSYS || r == -EOPNOTSUPP ? ABSENT : 1;
}

static int limit_each(void) {
    char byte;
    int fd = open(in("old"), O_RDWR | O_CLOEXEC), r = limits_writes();

    if (r != 0)
        return r;
    EXPECT(make(in("may/new")) == 0);
    EXPECT(mkdir(in("may/folder"), 0700) == 0);
    EXPECT(rename(in("may/new"), in("may/newer")) == 0);
    EXPECT(truncate(in("may/newer"), 10) == 0);
    EXPECT(bind_at(in("may/socket")) == 0);
    EXPECT(unlink(in("may/newer")) == 0);
    EXPECT_ERROR(make(in("new")), EACCES);
    EXPECT_ERROR(open(in("old"), O_WRONLY | O_CLOEXEC), EACCES);
    if (syscall(444 /* landlock_create_ruleset */, NULL, 0L, 1L) >= 3)
        EXPECT_ERROR(truncate(in("old"), 0), EACCES);
    EXPECT_ERROR(mkdir(in("folder"), 0700), EACCES);
    EXPECT_ERROR(unlink(in("old")), EACCES);
    EXPECT_ERROR(rename(in("old"), in("older")), EACCES);
    EXPECT_ERROR(symlink("x", in("link")), EACCES);
    EXPECT_ERROR(bind_at(in("socket")), EACCES);
    EXPECT(pwrite(fd, "x", 1, 0) == 1); /* what is open stays open */
    EXPECT(close(fd) == 0 && (fd = open(in("old"), O_RDONLY | O_CLOEXEC)) >= 0);
    EXPECT(read(fd, &byte, 1) == 1 && byte == 'x');
    EXPECT((fd = open("/dev/null", O_WRONLY | O_CLOEXEC)) >= 0);
    EXPECT((fd = memfd_create("x", MFD_CLOEXEC)) >= 0 && ftruncate(fd, 4096) == 0);
    return 0;
}

static void *write_outside(void *data) {
    *(int *)data = make(in("new")) < 0 ? errno : 0;
    return NULL;
}

static int limit_workers_and_programs(void) {
    char command[128];
    pthread_t thread;
    int code = 0, r = limits_writes();

    if (r != 0)
        return r;
    EXPECT(pthread_create(&thread, NULL, write_outside, &code) == 0);
    EXPECT(pthread_join(thread, NULL) == 0 && code == EACCES);
    (void)snprintf(command, sizeof(command), "exec 2>/dev/null; : > %s/may/y && : > %s/x", folder,
                   folder);
    EXPECT(system(command) != 0);
    EXPECT(access(in("may/y"), F_OK) == 0 && access(in("x"), F_OK) < 0);
    return 0;
}

/* Nothing is given up if a folder does not exist, and the caller learns which it is. */
static int name_missing(void) {
    const char *folders[] = {in("may"), in("none")};
    size_t failed;
    int r = leat_sandbox_limit_writes(folders, 2, NULL, &failed);

    if (r == -ENOSYS || r == -EOPNOTSUPP)
        return ABSENT;
    EXPECT(r == -ENOENT && failed == 1);
    folders[1] = in("old");
    EXPECT(leat_sandbox_limit_writes(folders, 2, NULL, &failed) == -ENOTDIR && failed == 1);
    EXPECT(make(in("new")) == 0 && unlink(in("new")) == 0);
    return 0;
}

/* The folder that leaves can be removed, but nothing else beside it. */
static int remove_leaving(void) {
    const char *folders[] = {in("may")};
    size_t failed;
    int r;

    EXPECT(mkdir(in("leaving"), 0700) == 0);
    r = leat_sandbox_limit_writes(folders, 1, in("leaving"), &failed);
    if (r == -ENOSYS || r == -EOPNOTSUPP)
        return rmdir(in("leaving")) == 0 ? ABSENT : 1;
    EXPECT(r == 0);
    EXPECT_ERROR(make(in("leaving/new")), EACCES);
    EXPECT_ERROR(unlink(in("old")), EACCES);
    EXPECT(rmdir(in("leaving")) == 0);
    EXPECT_ERROR(mkdir(in("leaving"), 0700), EACCES);
    return 0;
}

static void run_write_case(int (*body)(void)) {
    int status = in_child(body);

    if (status == ABSENT)
        SKIP_CASE("this kernel, or its emulation, has no Landlock");
    assert_int_equal(status, 0);
}

static void test_writes(void **state) {
    (void)state;
    run_write_case(limit_each);
}

static void test_leaving(void **state) {
    (void)state;
    run_write_case(remove_leaving);
}

static void test_workers_and_programs(void **state) {
    (void)state;
    run_write_case(limit_workers_and_programs);
}

static void test_missing_folder(void **state) {
    (void)state;
    run_write_case(name_missing);
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(folder) && mkdir(in("may"), 0700) == 0 && make(in("old")) == 0 ? 0 : -1;
}

static int teardown(void **state) {
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call),
        cmocka_unit_test(test_memory_of_others),
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_the_rest),
        cmocka_unit_test(test_foreign_calls),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_workers_and_programs),
        cmocka_unit_test(test_missing_folder),
        cmocka_unit_test(test_leaving),
    };

    return cmocka_run_group_tests_name("sandbox", tests, setup, teardown);
}
