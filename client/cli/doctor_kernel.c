/* doctor_kernel.c: what leat asks of the kernel, tried rather than looked up, as a container may
 * forbid what its kernel can; and the limits of who asks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/cli/doctor.h"
#include "client/cli/units.h"

#define AREA           "kernel"
#define LEAST_MAJOR    5
#define LEAST_MINOR    6 /* openat2 */
#define LEAST_FILES    1024
#define LITTLE_MEMORY  (UINT64_C(512) << 20)
#define FORBIDDEN_MEND "a container's seccomp filter forbids it, or Linux is older than %s"

static void kernel_version(struct leat_doctor *doctor) {
    unsigned major = 0, minor = 0;
    struct utsname name;
    bool is_new;

    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return;
    is_new = major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR);
    leat_doctor_add(doctor, is_new ? LEAT_DOCTOR_OK : LEAT_DOCTOR_FAIL, AREA, "version",
                    "Linux %.64s", name.release);
    if (!is_new)
        leat_doctor_mend(doctor, "leat needs Linux %d.%d or newer", LEAST_MAJOR, LEAST_MINOR);
}

static void tell(struct leat_doctor *doctor, const char *name, int code, const char *what,
                 const char *since) {
    if (code == 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, AREA, name, "%s", what);
        return;
    }
    leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, AREA, name, "%s: %s", what, strerror(code));
    leat_doctor_mend(doctor, FORBIDDEN_MEND, since);
}

static int try_seals(void) {
    int fd = memfd_create("leat-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code = 0;

    if (fd < 0)
        return errno;
    if (ftruncate(fd, 4096) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
        code = errno;
    (void)close(fd);
    return code;
}

static int try_pidfd(void) {
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    if (fd < 0)
        return errno;
    (void)close(fd);
    return 0;
}

static int try_openat2(void) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

    if (fd < 0)
        return errno;
    (void)close(fd);
    return 0;
}

static int try_groups(void) {
    gid_t groups[1];
    socklen_t size = sizeof(groups);
    int ends[2], code = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    if (getsockopt(ends[0], SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0 && errno != ERANGE)
        code = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return code;
}

void leat_doctor_kernel(struct leat_doctor *doctor) {
    kernel_version(doctor);
    tell(doctor, "sealed memory", try_seals(),
         "memfd_create and its seals, for batches (/dev/shm is not needed)", "5.1");
    tell(doctor, "pidfd", try_pidfd(), "pidfd_open, to see the end of a trainer", "5.3");
    tell(doctor, "openat2", try_openat2(), "openat2, to keep trainers below `roots`", "5.6");
    tell(doctor, "SO_PEERGROUPS", try_groups(), "groups of who connects, for rights", "4.13");
}

/* ---- limits ---- */

static void files_limit(struct leat_doctor *doctor) {
    char most[LEAT_CLI_UNIT_MAX], now[LEAT_CLI_UNIT_MAX];
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    leat_doctor_add(doctor, limit.rlim_max < LEAST_FILES ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK,
                    "limits", "open files", "%s, %s at most", leat_cli_count(limit.rlim_cur, now),
                    leat_cli_count(limit.rlim_max, most));
    if (limit.rlim_max < LEAST_FILES)
        leat_doctor_mend(doctor,
                         "`ulimit -Hn %d` or more, or nofile in /etc/security/limits.conf: a "
                         "daemon needs some for each trainer and file",
                         4 * LEAST_FILES);
}

static void address_limit(struct leat_doctor *doctor) {
    char bytes[LEAT_CLI_UNIT_MAX];
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "limits", "address space", "unlimited");
        return;
    }
    leat_doctor_add(doctor, LEAT_DOCTOR_WARN, "limits", "address space", "%s",
                    leat_cli_bytes(limit.rlim_cur, bytes));
    leat_doctor_mend(doctor, "`ulimit -v unlimited`: trainers map the memory of all their batches");
}

static void locked_limit(struct leat_doctor *doctor) {
    char bytes[LEAT_CLI_UNIT_MAX] = "unlimited";
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    if (limit.rlim_cur != RLIM_INFINITY)
        (void)leat_cli_bytes(limit.rlim_cur, bytes);
    leat_doctor_add(doctor, LEAT_DOCTOR_OK, "limits", "locked memory",
                    "%s; leat locks none, pinning batches for a GPU may need it", bytes);
}

/* "MemAvailable:   123 kB" */
static bool read_memory(const char *key, uint64_t *ret_bytes) {
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    size_t n = strlen(key);
    bool is_there = false;

    while (file && !is_there && fgets(line, sizeof(line), file))
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            *ret_bytes = strtoull(line + n + 1, NULL, 10) * 1024;
            is_there = true;
        }
    if (file)
        (void)fclose(file);
    return is_there;
}

static void memory(struct leat_doctor *doctor) {
    char free_text[LEAT_CLI_UNIT_MAX], all_text[LEAT_CLI_UNIT_MAX];
    uint64_t n_free, n_all;

    if (!read_memory("MemAvailable", &n_free) || !read_memory("MemTotal", &n_all)) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "limits", "memory", "/proc/meminfo");
        return;
    }
    leat_doctor_add(doctor, n_free < LITTLE_MEMORY ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK, "limits",
                    "memory", "%s of %s are free", leat_cli_bytes(n_free, free_text),
                    leat_cli_bytes(n_all, all_text));
    if (n_free < LITTLE_MEMORY)
        leat_doctor_mend(doctor, "end something, or set memory_limit in leatd.yaml, so that leat "
                                 "refuses streams before the kernel ends processes");
}

void leat_doctor_limits(struct leat_doctor *doctor) {
    files_limit(doctor);
    address_limit(doctor);
    locked_limit(doctor);
    memory(doctor);
}
