#include "pipeline/io/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try_seals(void) {
    int fd = memfd_create("leat-try", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code = 0;

    if (fd < 0)
        return errno;
    if (ftruncate(fd, 4096) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
        code = errno;
    (void)close(fd);
    return code;
}

/* Closes what a call has opened; what the call failed with, or 0. */
static int close_tried(long fd) {
    return fd < 0 || close((int)fd) < 0 ? errno : 0;
}

static int try_pidfd(void) {
    return close_tried(syscall(SYS_pidfd_open, getpid(), 0));
}

static int try_openat2(void) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};

    return close_tried(syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how)));
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

const struct leat_kernel_need leat_kernel_needs[LEAT_KERNEL_NEEDS_MAX] = {
    {.name = "sealed memory",
     .what = "memfd_create with seals, for the memory of batches (/dev/shm is not needed)",
     .since = "5.1",
     .try = try_seals},
    {.name = "pidfd",
     .what = "pidfd_open, to notice when a trainer ends",
     .since = "5.3",
     .try = try_pidfd},
    {.name = "openat2",
     .what = "openat2, to confine trainers to `roots`",
     .since = "5.6",
     .instead =
         "leat confines trainers to `roots` without openat2: it opens directories one by one",
     .try = try_openat2},
    {.name = "SO_PEERGROUPS",
     .what = "SO_PEERGROUPS, to read the groups of a client, which decide its rights",
     .since = "4.13",
     .try = try_groups},
};
