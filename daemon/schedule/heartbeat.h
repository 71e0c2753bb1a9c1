/* heartbeat.h: whether the workers go on.
 *
 * A worker beats when it begins and when it ends a task; the loop looks from time to time. A task
 * that is older than the timeout is *stalled*: its stream waits, and operators are told. That alone
 * is no fault of the daemon: a worker may compute for long, wait for a slow disk, or for a FIFO
 * that gives nothing, and a restart would only lead it there again. What no waiting cures, and a
 * restart does, is that the daemon is *stuck*:
 *
 *   - a worker has been stopped, or has ended, with a task in its hands;
 *   - a worker waits for a lock and has not run for half of the timeout, while none waits for
 *     storage (which may be the one that has the lock);
 *   - tasks lie in the pool, there are workers without one, and none takes one for that long.
 *
 * Time is what passed between looks as the loop saw it, each counted as LEAT_HEARTBEAT_LOOK_NS at
 * most: a process that was stopped as a whole, or a machine that slept, does not age its tasks.
 *
 * Owner: loop, but for the pulses, which are counters of the workers. A task that a pulse names may
 * be looked at on the loop: it is its owner's again only when the loop has called its `done`.
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

/* What the loop has seen of one. */
struct leat_worker_view {
    struct leat_task *task; /* that is stalled; NULL: none */
    uint64_t n_begun, age_ns;
    uint64_t quiet_ns; /* that it has not run */
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

/* On a worker, of that number (leat_scheduler_thread); heartbeat NULL: nothing. */
void leat_heartbeat_begin(struct leat_heartbeat *heartbeat, uint32_t number,
                          struct leat_task *task);
void leat_heartbeat_end(struct leat_heartbeat *heartbeat, uint32_t number);

/* elapsed_ns: since the last look. n_submitted: tasks that are with threads or in the pool; 0 if
 * none of them could be taken by a thread that has none. Then the views say
 * which tasks are stalled, and n_stalled, how many; and is_stuck stays once it is set. */
void leat_heartbeat_look(struct leat_heartbeat *heartbeat, uint64_t elapsed_ns,
                         uint32_t n_submitted);
