/* aside.h: threads beside libuv's pool, for what may take long: openings, and what would wait for
 * threads of the pool that are held for long.
 *
 * A thread is made when the first task has none, and stays. Tasks go to them through one pipe and
 * come back through another, as addresses: a task belongs to the thread from the one to the other.
 * There are never more tasks than threads, so that none waits in the pipe. Owner: loop; a thread
 * sees the pipes and its task.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define LEAT_ASIDE_MAX 64

struct leat_aside {
    void (*work)(void *task);              /* on a thread */
    void (*done)(void *owner, void *task); /* on the loop */
    void *owner;
    uv_thread_t threads[LEAT_ASIDE_MAX];
    uint32_t n_threads, n_most; /* made, and at most */
    uint32_t n_busy;
    int to_threads[2], from_threads[2];
    uv_poll_t poll;
    bool has_poll;
};

/* 0 or -errno; in any case stop and deinit have to follow. */
int leat_aside_init(struct leat_aside *aside, uv_loop_t *loop, uint32_t n_most,
                    void (*work)(void *task), void (*done)(void *owner, void *task), void *owner);
/* 0; -EBUSY: all threads are taken; -errno: there can be no further one. */
int leat_aside_run(struct leat_aside *aside, void *task);
/* No task may be out. Its handle is closed in the loop's next turn. */
void leat_aside_stop(struct leat_aside *aside);
/* After that. */
void leat_aside_deinit(struct leat_aside *aside);
