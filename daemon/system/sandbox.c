/* sandbox.c: see sandbox.h, seccomp(2) and landlock(7). */
#include "daemon/system/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- calls ---- */

#if defined(__x86_64__)
#define ARCH    AUDIT_ARCH_X86_64
#define FOREIGN 0x40000000 /* from here on: calls of x32 */
#elif defined(__aarch64__)
#define ARCH    AUDIT_ARCH_AARCH64
#define FOREIGN UINT32_MAX
#endif

#ifdef ARCH
#define NAMESPACES                                                                                 \
    ((uint32_t)(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |         \
                CLONE_NEWNET | CLONE_NEWCGROUP))
#define TIME_NAMESPACE     0x80U /* of unshare; clone takes it for a part of a signal's number */
#define LOAD(member)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define RETURN(value)      BPF_STMT(BPF_RET | BPF_K, (value))
#define UNLESS(test, k, n) BPF_JUMP(BPF_JMP | (test) | BPF_K, (k), 0, (n)) /* skips n */
#define REFUSED            (SECCOMP_RET_ERRNO | EPERM)
#define ABSENT             (SECCOMP_RET_ERRNO | ENOSYS)

/* Arguments are little-endian 64-bit numbers, so that a load gets their lower half. The flags of
 * clone3 lie in memory, which no filter can see: callers fall back to clone. Without SPEC_ALLOW
 * older kernels would slow the whole process down. */
int leat_sandbox_refuse_calls(void) {
    static struct sock_filter filter[] = {
        LOAD(arch),
        UNLESS(BPF_JEQ, ARCH, 2),
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN, 0, 1),
        RETURN(REFUSED),
#define CALL(name) UNLESS(BPF_JEQ, SYS_##name, 1), RETURN(REFUSED),
#include "daemon/system/sandbox_calls.def"
#undef CALL
        UNLESS(BPF_JEQ, SYS_clone3, 1),
        RETURN(ABSENT),
        UNLESS(BPF_JEQ, SYS_clone, 3),
        LOAD(args[0]),
        UNLESS(BPF_JSET, NAMESPACES, 1),
        RETURN(REFUSED),
        LOAD(nr),
        UNLESS(BPF_JEQ, SYS_unshare, 3),
        LOAD(args[0]),
        UNLESS(BPF_JSET, NAMESPACES | TIME_NAMESPACE, 1),
        RETURN(REFUSED),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) ==
            0)
        return 0;
    return errno == EPERM && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER ? 0 : -errno;
}
#else
int leat_sandbox_refuse_calls(void) {
    return -ENOSYS;
}
#endif

/* ---- writes ---- */

/* linux/landlock.h, of which older systems have less than the kernel that runs. */
#define CREATE_RULESET 444
#define ADD_RULE       445
#define RESTRICT_SELF  446
#define WANT_VERSION   1
#define PATH_BENEATH   1

#define WRITE_FILE  (UINT64_C(1) << 1)
#define REMOVE_DIR  (UINT64_C(1) << 4)
#define REMOVE_MAKE (UINT64_C(0x1ff) << 4) /* REMOVE_DIR and REMOVE_FILE, MAKE_CHAR to MAKE_SYM */
#define REFER       (UINT64_C(1) << 13)    /* version 2 */
#define TRUNCATE    (UINT64_C(1) << 14)    /* version 3 */

struct ruleset {
    uint64_t handled_access_fs;
};

struct path_beneath {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

static int allow(int ruleset, const char *folder, uint64_t access) {
    struct path_beneath rule = {.allowed_access = access,
                                .parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    int r;

    if (rule.parent_fd < 0)
        return -errno;
    r = syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
    (void)close(rule.parent_fd);
    return r;
}

/* The folder around it gets the right. */
static void allow_removing(int ruleset, const char *folder) {
    char above[4096];

    if ((size_t)snprintf(above, sizeof(above), "%s/..", folder) < sizeof(above))
        (void)allow(ruleset, above, REMOVE_DIR);
}

static int restrict_to(int ruleset, const char *const *folders, size_t n_folders,
                       const char *leaving, uint64_t access, size_t *ret_failed) {
    static const char *const kernel[] = {"/dev", "/proc"};

    if (leaving)
        allow_removing(ruleset, leaving);
    for (size_t i = 0; i < sizeof(kernel) / sizeof(*kernel); i++)
        (void)allow(ruleset, kernel[i], access & (WRITE_FILE | TRUNCATE));
    for (size_t i = 0; i < n_folders; i++) {
        int r = allow(ruleset, folders[i], access);

        *ret_failed = i;
        if (r < 0)
            return r;
    }
    *ret_failed = n_folders;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(RESTRICT_SELF, ruleset, 0) < 0)
        return -errno;
    return 0;
}

int leat_sandbox_limit_writes(const char *const *folders, size_t n_folders, const char *leaving,
                              size_t *ret_failed) {
    long version = syscall(CREATE_RULESET, NULL, 0, WANT_VERSION);
    struct ruleset rules = {.handled_access_fs = WRITE_FILE | REMOVE_MAKE};
    int ruleset, r;

    *ret_failed = n_folders;
    if (version < 0)
        return -errno;
    rules.handled_access_fs |= (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
    ruleset = (int)syscall(CREATE_RULESET, &rules, sizeof(rules), 0);
    if (ruleset < 0)
        return -errno;
    r = restrict_to(ruleset, folders, n_folders, leaving, rules.handled_access_fs, ret_failed);
    (void)close(ruleset);
    return r;
}
