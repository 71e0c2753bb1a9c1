/* thread_state.c: see thread_state.h and proc(5). */
#include "daemon/system/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIELDS_TO_UTIME 11 /* from the state, which follows the name */

const char *leat_thread_wait_name(enum leat_thread_wait wait) {
    static const char *const names[] = {
        [LEAT_THREAD_COMPUTES] = "nothing: the worker computes",
        [LEAT_THREAD_STORAGE] = "storage",
        [LEAT_THREAD_OTHERS] = "a FIFO or a program",
        [LEAT_THREAD_LOCK] = "a lock",
        [LEAT_THREAD_STOPPED] = "a signal to continue",
        [LEAT_THREAD_DEAD] = "nothing: the worker has ended",
    };

    return names[wait];
}

/* A thread's name may hold blanks and parentheses; the last parenthesis ends it. */
static void parse_stat(const char *stat, struct leat_thread_state *state) {
    const char *at = strrchr(stat, ')');
    char *end;

    if (!at || at[1] != ' ' || !at[2])
        return;
    state->letter = at[2];
    for (int i = 0; i < FIELDS_TO_UTIME && at; i++)
        at = strchr(at + 1, ' ');
    at = at ? strchr(at + 1, ' ') : NULL;
    if (!at)
        return;
    state->cpu_ticks = strtoull(at, &end, 10);
    state->cpu_ticks += strtoull(end, NULL, 10);
}

void leat_thread_state_parse(const char *stat, const char *syscall,
                             struct leat_thread_state *ret_state) {
    *ret_state = (struct leat_thread_state){.call = -1};
    if (stat)
        parse_stat(stat, ret_state);
    if (syscall && syscall[0] >= '0' && syscall[0] <= '9')
        ret_state->call = strtoll(syscall, NULL, 10);
}

/* 0 or -errno. */
static int read_text(pid_t tid, const char *name, char *buffer, size_t size) {
    char path[64];
    ssize_t n;
    int fd, r;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buffer, size - 1);
    r = n < 0 ? -errno : 0;
    (void)close(fd);
    if (n >= 0)
        buffer[n] = '\0';
    return r;
}

void leat_thread_state_read(pid_t tid, struct leat_thread_state *state) {
    char stat[1024], syscall[256];
    int r = read_text(tid, "stat", stat, sizeof(stat));

    if (r < 0 && r != -ENOENT && r != -ESRCH) {
        if (!state->letter)
            state->letter = 'R';
        return;
    }
    leat_thread_state_parse(
        r < 0 ? NULL : stat,
        read_text(tid, "syscall", syscall, sizeof(syscall)) < 0 ? NULL : syscall, state);
}

static bool is_lock(int64_t call) {
#ifdef SYS_futex_waitv
    if (call == SYS_futex_waitv)
        return true;
#endif
    return call == SYS_futex;
}

enum leat_thread_wait leat_thread_state_judge(const struct leat_thread_state *state,
                                              const struct leat_thread_state *before) {
    switch (state->letter) {
    case 'T':
    case 't':
        return LEAT_THREAD_STOPPED;
    case 'Z':
    case 'X':
    case 'x':
    case 0:
        return LEAT_THREAD_DEAD;
    default:
        break;
    }
    if (state->letter == 'R' || state->cpu_ticks != before->cpu_ticks)
        return LEAT_THREAD_COMPUTES;
    if (state->letter == 'D')
        return LEAT_THREAD_STORAGE;
    return is_lock(state->call) ? LEAT_THREAD_LOCK : LEAT_THREAD_OTHERS;
}
