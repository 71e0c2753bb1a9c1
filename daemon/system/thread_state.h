/* thread_state.h: what a thread of this process waits for, as the kernel reports it.
 *
 * From /proc/self/task/TID/stat and /proc/self/task/TID/syscall (proc(5)). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct leat_thread_state {
    char letter;        /* R, S, D, T, t, Z, X, ...; 0: there is no such thread */
    uint64_t cpu_ticks; /* processor time that it has used */
    int64_t call;       /* the system call that it sleeps in; -1: none, or unknown */
};

enum leat_thread_wait {
    LEAT_THREAD_COMPUTES, /* it runs, or has run since the last look */
    LEAT_THREAD_STORAGE,  /* for a device or file system, and cannot be interrupted */
    LEAT_THREAD_OTHERS,   /* in a system call that another process ends: a FIFO, a program */
    LEAT_THREAD_LOCK,     /* for another thread */
    LEAT_THREAD_STOPPED,  /* by a signal or a debugger */
    LEAT_THREAD_DEAD,     /* it has ended */
};

/* "computing", "storage", "somebody else", ... */
const char *leat_thread_wait_name(enum leat_thread_wait wait);

/* *state holds what was read before, or zeros. It stays as it is if the kernel does not answer, as
 * without descriptors; a thread about which nothing is known counts as computing. */
void leat_thread_state_read(pid_t tid, struct leat_thread_state *state);
/* Parses the texts of the two files; NULL or nonsense counts as unknown. */
void leat_thread_state_parse(const char *stat, const char *syscall,
                             struct leat_thread_state *ret_state);
/* Says what the thread waits for, from this sample and the one before. */
enum leat_thread_wait leat_thread_state_judge(const struct leat_thread_state *state,
                                              const struct leat_thread_state *before);
