/* thread_state.h: what the kernel says of one thread of this process: what it waits for.
 *
 * From /proc/self/task/TID/stat and /proc/self/task/TID/syscall (proc(5)). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct leat_thread_state {
    char letter;        /* R, S, D, T, t, Z, X, ...; 0: there is no such thread */
    uint64_t cpu_ticks; /* that it has used */
    int64_t call;       /* the system call that it sleeps in; -1: none, or not known */
};

enum leat_thread_wait {
    LEAT_THREAD_COMPUTES, /* it runs, or has run since the look before */
    LEAT_THREAD_STORAGE,  /* for a device or file system, and cannot be interrupted */
    LEAT_THREAD_OTHERS,   /* in a system call that somebody else ends: a FIFO, a program */
    LEAT_THREAD_LOCK,     /* for another thread */
    LEAT_THREAD_STOPPED,  /* by a signal or a debugger */
    LEAT_THREAD_DEAD,     /* it has ended */
};

/* "computing", "storage", "somebody else", ... */
const char *leat_thread_wait_name(enum leat_thread_wait wait);

/* *state: what was read before, or zeros; stays where the kernel does not answer (no descriptors
 * are left), and what is not known at all is taken for computing. */
void leat_thread_state_read(pid_t tid, struct leat_thread_state *state);
/* From the texts of the two files; NULL or nonsense: that is not known. */
void leat_thread_state_parse(const char *stat, const char *syscall,
                             struct leat_thread_state *ret_state);
/* What it waits for, from that and the look before. */
enum leat_thread_wait leat_thread_state_judge(const struct leat_thread_state *state,
                                              const struct leat_thread_state *before);
