/* thread_pool.h: threads that execute tasks. The loop is told when a task has ended.
 *
 * Tasks are taken first in, first out. Of many threads, the one that fell asleep last is woken
 * first: its caches are the warmest, and where few threads suffice, the others sleep on. Of few
 * threads, it is the one that has slept longest: the last one often shares a processor with the
 * loop, which is about to go on.
 * Owner: loop; a thread sees only the lists under the lock, and its task.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Is the first member of a task. */
struct leat_pool_task {
    struct leat_pool_task *next;
};

struct leat_pool_list {
    struct leat_pool_task *first, **last;
};

struct leat_pool_thread;

struct leat_thread_pool {
    void (*work)(struct leat_pool_task *task);              /* on a thread */
    void (*done)(void *owner, struct leat_pool_task *task); /* on the loop */
    void *owner;
    struct leat_pool_thread *threads;
    uint32_t n_threads, n_most; /* that were made, and that may be */
    uint32_t n_out;             /* tasks that were added and are not done */
    int event_fd;               /* tells the loop that a task has ended */
    uv_poll_t poll;
    bool has_poll, has_lock;

    pthread_mutex_t lock; /* guards all that follows */
    struct leat_pool_list waiting, ended;
    struct leat_pool_thread *idle;
    uint32_t n_idle;
    bool is_stopping;
};

/* 0 or -errno; stop and deinit must follow in either case. owner, work and done are set later. */
int leat_thread_pool_init(struct leat_thread_pool *pool, uv_loop_t *loop, uint32_t n_most);
/* Makes threads until there are n. 0 or -errno. */
int leat_thread_pool_grow(struct leat_thread_pool *pool, uint32_t n);
/* Adds a task, which waits until a thread is free. */
void leat_thread_pool_add(struct leat_thread_pool *pool, struct leat_pool_task *task);
/* No task may be out. The handle is closed in the loop's next turn, */
void leat_thread_pool_stop(struct leat_thread_pool *pool);
/* after which this may be called. */
void leat_thread_pool_deinit(struct leat_thread_pool *pool);
