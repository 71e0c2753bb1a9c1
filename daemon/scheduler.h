/* scheduler.h: everything that runs on libuv's pool: the jobs of all runs, and slow work.
 *
 * libuv's queue is first in, first out, and a task that maps a block takes milliseconds. So the
 * long ones (mapping, slow work) are handed to the pool in small numbers, and the pool has a thread
 * more than map: what is near to a trainer (making batches, reading on) takes microseconds, and
 * finds a thread soon. What waits, waits here; within a class one run after the other. Slow work
 * (plans, shared memory) may take at most half of the workers.
 * Owner: loop; a task's `work` runs on a thread of the pool and sees only the task.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum leat_task_class {
    LEAT_TASK_URGENT, /* collation, copies, quarantine files */
    LEAT_TASK_SLOW,
    LEAT_TASK_SCAN,
    LEAT_TASK_MAP,
    LEAT_N_TASK_CLASSES,
};

struct leat_heartbeat;
struct leat_stream;

struct leat_task {
    uv_work_t request;
    struct leat_stream *stream; /* that waits for it, while it is out; NULL: none */
    struct leat_task *next;
    struct leat_scheduler *scheduler;
    enum leat_task_class class;
    void (*start)(struct leat_task *task); /* on the loop, when it goes to the pool; may be NULL */
    void (*work)(struct leat_task *task);  /* on a worker */
    void (*done)(struct leat_task *task);  /* on the loop; the task is its owner's again */
};

/* Tasks of one class of one owner, in order. */
struct leat_task_list {
    struct leat_task_list *next; /* among the lists that have tasks */
    struct leat_task *first, **last;
};

/* One owner's place in the round robin. */
struct leat_task_queue {
    struct leat_task_list lists[LEAT_N_TASK_CLASSES];
};

struct leat_scheduler {
    uv_loop_t *loop;
    uint32_t n_workers, max_long;
    uint32_t n_submitted, n_slow, n_long, n_waiting;
    struct {
        struct leat_task_list *first, **last;
    } classes[LEAT_N_TASK_CLASSES];
    struct leat_task_queue others;    /* of whoever has no queue of its own */
    struct leat_heartbeat *heartbeat; /* that hears of every task; NULL: nobody wants to */
};

/* On a thread of the pool: which one, from 0 in the order of their first asking. */
uint32_t leat_scheduler_thread(void);

/* Threads that the pool must have for that many workers. */
uint32_t leat_scheduler_n_threads(uint32_t n_workers);

void leat_scheduler_init(struct leat_scheduler *scheduler, uv_loop_t *loop, uint32_t n_workers);
void leat_scheduler_deinit(struct leat_scheduler *scheduler);

void leat_task_queue_init(struct leat_task_queue *queue);

/* queue NULL: the one for others. class, start, work and done are set by the caller. */
void leat_scheduler_add(struct leat_scheduler *scheduler, struct leat_task_queue *queue,
                        struct leat_task *task);
