/* heartbeat.h: watches whether the workers make progress.
 *
 * A worker notes when it begins and ends a task, and the loop looks at that from time to time. A
 * task older than the timeout is *stalled*: its stream waits, and operators are warned. That alone
 * is no fault of the daemon: a worker may compute for long, or wait for a slow disk or an empty
 * FIFO, and would do so after a restart too. The daemon is *stuck* where only a restart helps:
 *
 *   - a worker was stopped, or has ended, in the middle of a task;
 *   - a worker waits for a lock and has not run for half of the timeout, while none waits for
 *     storage, which might hold the lock;
 *   - tasks lie in the pool for that long, and workers without a task do not take them.
 *
 * Time is measured by the loop between looks, each counted as LEAT_HEARTBEAT_LOOK_NS at most. So
 * the tasks of a process that was stopped, or of a machine that slept, do not age.
 *
 * Owner: loop, but for the pulses, which are counters of the workers. The loop may look at a task
 * that a pulse names: the task is its owner's again only after the loop has called its `done`.
 */
#pragma once

#include <stdatomic.h>

#include "daemon/system/thread_state.h"

#define LEAT_HEARTBEAT_LOOK_NS UINT64_C(2000000000)

struct leat_task;

/* Written by its worker. */
struct leat_pulse {
    _Alignas(64) _Atomic(struct leat_task *) task; /* NULL: it has none */
    _Atomic uint64_t n_begun;
    _Atomic int32_t tid;
};

/* The state of a worker when the loop last looked. */
struct leat_worker_view {
    struct leat_task *task; /* if it is stalled; else NULL */
    uint64_t n_begun, age_ns;
    uint64_t quiet_ns; /* since it last ran */
    bool is_looked_at;
    struct leat_thread_state state;
    enum leat_thread_wait wait;
};

struct leat_heartbeat {
    uint32_t n_threads;
    struct leat_pulse *pulses;
    struct leat_worker_view *views;
    uint64_t timeout_ns;                                          /* 0: nothing is ever stalled */
    void (*read)(pid_t tid, struct leat_thread_state *ret_state); /* leat_thread_state_read */
    uint64_t n_begun, untaken_ns;
    uint32_t n_stalled;
    bool is_stuck;
};

int leat_heartbeat_init(struct leat_heartbeat *heartbeat, uint32_t n_threads, uint64_t timeout_ns);
void leat_heartbeat_deinit(struct leat_heartbeat *heartbeat);

/* On the worker of that number (leat_scheduler_thread). heartbeat may be NULL. */
void leat_heartbeat_begin(struct leat_heartbeat *heartbeat, uint32_t number,
                          struct leat_task *task);
void leat_heartbeat_end(struct leat_heartbeat *heartbeat, uint32_t number);

/* Finds the tasks that are stalled, and whether the daemon is stuck, which it then stays.
 * elapsed_ns: since the last look. n_submitted: tasks on threads and in the pool, or 0 if no idle
 * thread could take one. */
void leat_heartbeat_check(struct leat_heartbeat *heartbeat, uint64_t elapsed_ns,
                          uint32_t n_submitted);
