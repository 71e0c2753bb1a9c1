/* scheduler.h: everything that runs on libuv's pool, and on threads beside it: the jobs of all
 * runs, and slow work.
 *
 * libuv's queue is first in, first out, and a task that maps a block takes milliseconds. So tasks
 * are handed to the pool in small numbers; what waits, waits here. Mapping tasks are no more than
 * there are workers, and the pool has a thread more than map: what is near to a trainer (making
 * batches, reading on) takes microseconds, and finds a thread soon. Slow work (plans, shared
 * memory) has threads of its own (aside.h), so that no opening waits behind mapping.
 *
 * Whose task is next is decided by fair.h, first between users, by their weights, then between the
 * queues (runs) of the user, by the time that threads have worked for them; of one user's tasks the
 * class comes before that.
 *
 * Tasks cannot be interrupted. One that has held its thread for LEAT_TASK_HELD_NS (a program that
 * takes its time over records, storage that hangs) is held against its own run alone: a run that
 * holds nothing gets a thread beside the pool in its place. Of those threads no user may have more
 * than are left for others, so that k users can never be without one before k threads are left to
 * halve; one user cannot take all.
 * Owner: loop; a task's `work` runs on some thread and sees only the task.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/schedule/aside.h"
#include "daemon/schedule/fair.h"

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
enum leat_task_place { LEAT_TASK_NOWHERE, LEAT_TASK_IN_POOL, LEAT_TASK_ASIDE };

struct leat_scheduler;
struct leat_task_queue;

struct leat_task {
    uv_work_t request;
    struct leat_daemon_stream *stream; /* that waits for it, while it is out; NULL: none */
    struct leat_task *next; /* of its list, while it waits; then of those that are out: */
    struct leat_task **link;
    struct leat_scheduler *scheduler;
    struct leat_task_queue *queue;
    enum leat_task_class class;
    enum leat_task_place place;
    bool is_held;                       /* has been found to hold its thread */
    uint64_t user_charge, queue_charge; /* see leat_fair_begin() */
    uint64_t taken_ns;
    _Atomic uint64_t start_ns, end_ns;     /* by the thread; 0: it has not begun, or ended */
    void (*start)(struct leat_task *task); /* on the loop, when it goes to a thread; may be NULL */
    void (*work)(struct leat_task *task);  /* on the thread */
    void (*done)(struct leat_task *task);  /* on the loop; the task is its owner's again */
};

/* Tasks of one class of one queue, in order. */
struct leat_task_list {
    struct leat_task_list *next; /* among the lists of the user that have tasks */
    struct leat_task_queue *queue;
    struct leat_task *first, **last;
};

/* What belongs together, as the jobs of a run. */
struct leat_task_queue {
    struct leat_task_user *user;
    struct leat_fair_share share;
    uint64_t estimates_ns[LEAT_N_TASK_CLASSES]; /* of its next task; 0: nobody knows */
    uint32_t n_waiting, n_map, n_held;          /* n_map, n_held: that are out */
    struct leat_task_list lists[LEAT_N_TASK_CLASSES];
};

/* Whose queues they are. */
struct leat_task_user {
    struct leat_task_user *next, **link; /* of those who have tasks that wait */
    struct leat_fair_share share;
    struct leat_fair fair; /* between its queues */
    uint32_t n_waiting, n_out;
    uint32_t n_slow, n_stand_ins; /* beside the pool */
    uint64_t worker_ns;           /* that threads have worked for it */
    struct {
        struct leat_task_list *first, **last;
    } classes[LEAT_N_TASK_CLASSES];
};

struct leat_scheduler {
    uv_loop_t *loop;
    uint64_t (*now_ns)(void);                        /* any thread; a test has a clock of its own */
    uint32_t n_workers, n_threads;                   /* of the pool */
    uint32_t n_mapping, max_long;                    /* mapping tasks: at once; if they are quick */
    uint32_t max_scans, max_short;                   /* in the pool */
    uint32_t max_user_slow, max_slow, max_stand_ins; /* beside it */
    uint32_t n_waiting, n_submitted;                 /* here; on threads or in the pool's line */
    uint32_t n_map, n_map_held, n_slow, n_stand_ins;
    uint32_t n_pool_map, n_pool_scans, n_pool_short, n_pool_held, n_pool_short_held;
    struct leat_fair fair; /* between users */
    struct leat_task_user *users;
    struct leat_task *out;
    struct leat_task_user nobody; /* whose tasks nobody asked for */
    struct leat_task_queue others;
    struct leat_aside aside;
    uv_timer_t timer; /* while somebody waits: looks for tasks that hold their threads */
    bool has_timer, is_watching;
    uint64_t done_ns; /* that tasks took which have ended, and no slow ones */
    struct {
        uint64_t at_ns, task_ns, busy_ns;
    } told;                           /* when leat_scheduler_busy_ns() was asked last */
    struct leat_heartbeat *heartbeat; /* that hears of every task; NULL: nobody wants to */
};

/* On a thread: which one, from 0 in the order of their first asking. */
uint32_t leat_scheduler_thread(void);

/* Threads that the pool must have for that many workers. */
uint32_t leat_scheduler_n_threads(uint32_t n_workers);

/* Whether a task lies in the pool though a thread of it has none. */
bool leat_scheduler_has_untaken(const struct leat_scheduler *scheduler);

/* Threads beside the pool that there may be besides. */
uint32_t leat_scheduler_n_beside(uint32_t n_workers);

/* Time that workers have worked so far, on what goes on as well: it never goes back, and between
 * two questions it grows by no more than all workers' time. Threads besides those that map work
 * for them, as far as there are workers that do nothing. Slow tasks are no work of theirs. */
uint64_t leat_scheduler_busy_ns(struct leat_scheduler *scheduler, uint64_t now_ns);

/* 0 or -errno; in any case stop and deinit have to follow. */
int leat_scheduler_init(struct leat_scheduler *scheduler, uv_loop_t *loop, uint32_t n_workers);
/* No task may be out or wait. Its handles are closed in the loop's next turn. */
void leat_scheduler_stop(struct leat_scheduler *scheduler);
/* After that. */
void leat_scheduler_deinit(struct leat_scheduler *scheduler);

/* weight: 1..LEAT_FAIR_WEIGHT_MAX; it may be changed at any time in share.weight. */
void leat_task_user_init(struct leat_task_user *user, uint32_t weight);
/* None of its tasks may wait or be out. */
void leat_task_user_deinit(struct leat_task_user *user);
void leat_task_queue_init(struct leat_task_queue *queue, struct leat_task_user *user);

/* queue NULL: nobody's. class, start, work and done are set by the caller. */
void leat_scheduler_add(struct leat_scheduler *scheduler, struct leat_task_queue *queue,
                        struct leat_task *task);
