/* calls.h: calls of the kernel for which older C libraries have no function, or none that is
 * simple. leat runs with glibc 2.28; gettid() and pidfd_open() came with 2.30 and 2.36. */
#pragma once

#include <sched.h>
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

/* The number of CPUs that this process may use, at least 1. */
static inline unsigned leat_n_cpus(void) {
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
                                                          : sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (unsigned)n : 1;
}
