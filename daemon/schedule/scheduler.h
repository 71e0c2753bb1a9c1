/* scheduler.h: schedules all tasks, on a pool of threads and on overflow threads: the jobs of all
 * runs, and slow work.
 *
 * The pool's queue is first in, first out, and a task that maps a block takes milliseconds. So only
 * few tasks are handed to the pool, and the others wait here. No more tasks map than there are
 * workers, and the pool has one thread more: work that is near to a trainer (making batches,
 * reading on) takes microseconds and soon finds a thread. Slow work (plans, shared memory) gets
 * overflow threads, so that no opening waits behind mapping. Each of them is made when all others
 * are busy, and stays; there are never more tasks than threads.
 *
 * fair.h decides whose task is next: first between users, by their weights, then between a user's
 * queues (runs), by the time that threads have worked for them. Among one user's tasks the class
 * comes first.
 *
 * Tasks cannot be interrupted. One that has held its thread for LEAT_TASK_HELD_NS, as with a slow
 * program or storage that hangs, counts against its own run only: a run that holds no thread gets
 * an overflow thread instead. No user may have more of these than are left for others, so that one
 * user cannot take all.
 * Owner: loop; a task's `work` runs on some thread and sees only the task.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/schedule/fair.h"
#include "daemon/schedule/thread_pool.h"
#include "proto/base/error.h"

#define LEAT_TASK_HELD_NS UINT64_C(100000000)

enum leat_task_class {
    LEAT_TASK_URGENT, /* collation, copies, quarantine files */
    LEAT_TASK_SLOW,
    LEAT_TASK_SCAN,
    LEAT_TASK_MAP,
    LEAT_N_TASK_CLASSES,
};

struct leat_heartbeat;
struct leat_daemon_stream;
enum leat_task_place { LEAT_TASK_NOWHERE, LEAT_TASK_IN_POOL, LEAT_TASK_IN_OVERFLOW };

struct leat_scheduler;
struct leat_task_queue;

struct leat_task {
    struct leat_pool_task base;
    struct leat_daemon_stream *stream; /* that waits for it while it is out; may be NULL */
    struct leat_task *next; /* of its list while it waits; then of the tasks that are out: */
    struct leat_task **link;
    struct leat_scheduler *scheduler;
    struct leat_task_queue *queue;
    enum leat_task_class class;
    enum leat_task_place place;
    bool is_held;                       /* it has held its thread for long */
    uint64_t user_charge, queue_charge; /* see leat_fair_begin() */
    uint64_t taken_ns;
    _Atomic uint64_t start_ns, end_ns; /* by the thread; 0: it has not begun, or ended */
    void (*start)(
        struct leat_task *task);          /* on the loop, before it goes to a thread; may be NULL */
    void (*work)(struct leat_task *task); /* on the thread */
    void (*done)(struct leat_task *task); /* on the loop; the task is its owner's again */
};

/* Tasks of one class of one queue, in order. */
struct leat_task_list {
    struct leat_task_list *next; /* among the lists of the user that have tasks */
    struct leat_task_queue *queue;
    struct leat_task *first, **last;
};

/* Tasks that belong together, as the jobs of a run. */
struct leat_task_queue {
    struct leat_task_user *user;
    struct leat_fair_share share;
    uint64_t estimates_ns[LEAT_N_TASK_CLASSES]; /* of its next task; 0: not known yet */
    uint32_t n_waiting, n_map, n_held;          /* n_map, n_held: of tasks that are out */
    struct leat_task_list lists[LEAT_N_TASK_CLASSES];
};

/* A user of the scheduler, with its queues. */
struct leat_task_user {
    struct leat_task_user *next, **link; /* of users with tasks that wait */
    struct leat_fair_share share;
    struct leat_fair fair; /* between its queues */
    uint32_t n_waiting, n_out;
    uint32_t n_slow, n_stand_ins; /* on overflow threads */
    uint32_t n_slow_held;         /* of the slow ones, those that take long */
    uint64_t worker_ns;           /* time of threads that it has used */
    struct {
        struct leat_task_list *first, **last;
    } classes[LEAT_N_TASK_CLASSES];
};

struct leat_scheduler {
    uv_loop_t *loop;
    uint64_t (*now_ns)(void);      /* for any thread; tests have their own */
    uint32_t n_workers, n_threads; /* of the pool */
    uint32_t n_mapping, max_long;  /* mapping tasks at once; more if they are quick */
    uint32_t max_scans, max_short; /* in the pool */
    uint32_t max_user_slow, max_slow, max_stand_ins; /* on overflow threads */
    uint32_t n_waiting, n_submitted;                 /* here; on threads or in the pool's queue */
    uint32_t n_map, n_map_held, n_slow, n_stand_ins;
    uint32_t n_pool_map, n_pool_scans, n_pool_short, n_pool_held, n_pool_short_held;
    struct leat_fair fair; /* between users */
    struct leat_task_user *users;
    struct leat_task *out;
    struct leat_task_user nobody; /* of tasks that no user asked for */
    struct leat_task_queue others;
    struct leat_thread_pool pool, overflow;
    uv_timer_t timer; /* runs while tasks wait: finds tasks that hold their threads */
    bool has_timer, is_watching;
    uint64_t done_ns; /* taken by tasks that have ended, without slow ones */
    struct {
        uint64_t at_ns, task_ns, busy_ns;
    } told;                           /* when leat_scheduler_busy_ns() was asked last */
    struct leat_heartbeat *heartbeat; /* may be NULL */
};

/* The number of the calling thread, from 0 in the order of first calls. */
uint32_t leat_scheduler_thread(void);

/* The number of threads of the pool; the largest number of overflow threads. */
uint32_t leat_scheduler_n_threads(uint32_t n_workers);
uint32_t leat_scheduler_n_overflow(uint32_t n_workers);

/* True if a task lies in the pool although one of its threads has none. */
bool leat_scheduler_has_untaken(const struct leat_scheduler *scheduler);

/* The time that workers have worked so far, tasks under way included. It never goes back, and
 * between two calls grows by no more than all workers' time. The time of other threads counts as
 * long as workers are idle. Slow tasks do not count. */
uint64_t leat_scheduler_busy_ns(struct leat_scheduler *scheduler, uint64_t now_ns);

/* Makes the threads of the pool. 0 or -errno; stop and deinit must follow in either case. */
int leat_scheduler_init(struct leat_scheduler *scheduler, uv_loop_t *loop, uint32_t n_workers,
                        struct leat_error *err);
/* No task may be out or wait. The handles are closed in the loop's next turn, */
void leat_scheduler_stop(struct leat_scheduler *scheduler);
/* after which this may be called. */
void leat_scheduler_deinit(struct leat_scheduler *scheduler);

/* weight: 1..LEAT_FAIR_WEIGHT_MAX; share.weight may be changed at any time. */
void leat_task_user_init(struct leat_task_user *user, uint32_t weight);
/* None of its tasks may wait or be out. */
void leat_task_user_deinit(struct leat_task_user *user);
void leat_task_queue_init(struct leat_task_queue *queue, struct leat_task_user *user);

/* The caller sets class, start, work and done. queue NULL: the task is no user's. */
void leat_scheduler_add(struct leat_scheduler *scheduler, struct leat_task_queue *queue,
                        struct leat_task *task);
