/* overflow.h: overflow threads, for tasks that may take long: openings, and tasks whose turn has
 * come while threads of libuv's pool are held for long.
 *
 * A thread is made when all others are busy, and stays. Tasks travel as addresses, to the threads
 * through one pipe and back through another; in between a task belongs to its thread. There are
 * never more tasks than threads, so that no task waits in the pipe. Owner: loop; a thread sees only
 * the pipes and its task.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define LEAT_OVERFLOW_MAX 64

struct leat_overflow {
    void (*work)(void *task);              /* on a thread */
    void (*done)(void *owner, void *task); /* on the loop */
    void *owner;
    uv_thread_t threads[LEAT_OVERFLOW_MAX];
    uint32_t n_threads, n_most; /* that were made, and that may be */
    uint32_t n_busy;
    int to_threads[2], from_threads[2];
    uv_poll_t poll;
    bool has_poll;
};

/* 0 or -errno; stop and deinit must follow in either case. */
int leat_overflow_init(struct leat_overflow *overflow, uv_loop_t *loop, uint32_t n_most,
                       void (*work)(void *task), void (*done)(void *owner, void *task),
                       void *owner);
/* 0; -EBUSY: all threads are busy; -errno: no further one can be made. */
int leat_overflow_run(struct leat_overflow *overflow, void *task);
/* No task may be out. The handle is closed in the loop's next turn, */
void leat_overflow_stop(struct leat_overflow *overflow);
/* after which this may be called. */
void leat_overflow_deinit(struct leat_overflow *overflow);
