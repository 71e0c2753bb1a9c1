/* calls.h: calls of the kernel for which older C libraries have no function. leat runs with glibc
 * 2.28; these functions came with 2.30 and 2.36. */
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline pid_t leat_thread_id(void) {
    return (pid_t)syscall(SYS_gettid);
}

/* A descriptor of that process, closed by exec; -1: see errno and pidfd_open(2). */
static inline int leat_process_open(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}
