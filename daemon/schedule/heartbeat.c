/* heartbeat.c: see heartbeat.h. A look costs three loads a worker; the kernel is asked only about
 * workers that have had the same task for long.
 */
#include "daemon/schedule/heartbeat.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/base/calls.h"

int leat_heartbeat_init(struct leat_heartbeat *heartbeat, uint32_t n_threads, uint64_t timeout_ns) {
    *heartbeat = (struct leat_heartbeat){
        .n_threads = n_threads, .timeout_ns = timeout_ns, .read = leat_thread_state_read};
    heartbeat->pulses =
        aligned_alloc(_Alignof(struct leat_pulse), n_threads * sizeof(*heartbeat->pulses));
    heartbeat->views = calloc(n_threads, sizeof(*heartbeat->views));
    if (!heartbeat->pulses || !heartbeat->views) {
        leat_heartbeat_deinit(heartbeat);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        atomic_init(&heartbeat->pulses[i].task, NULL);
        atomic_init(&heartbeat->pulses[i].n_begun, 0);
        atomic_init(&heartbeat->pulses[i].tid, 0);
    }
    return 0;
}

void leat_heartbeat_deinit(struct leat_heartbeat *heartbeat) {
    free(heartbeat->pulses);
    free(heartbeat->views);
    heartbeat->pulses = NULL;
    heartbeat->views = NULL;
}

/* ---- on a worker ---- */

void leat_heartbeat_begin(struct leat_heartbeat *heartbeat, uint32_t number,
                          struct leat_task *task) {
    struct leat_pulse *pulse;

    if (!heartbeat || number >= heartbeat->n_threads)
        return;
    pulse = &heartbeat->pulses[number];
    if (atomic_load_explicit(&pulse->tid, memory_order_relaxed) == 0)
        atomic_store_explicit(&pulse->tid, leat_thread_id(), memory_order_relaxed);
    atomic_fetch_add_explicit(&pulse->n_begun, 1, memory_order_relaxed);
    atomic_store_explicit(&pulse->task, task, memory_order_release);
}

void leat_heartbeat_end(struct leat_heartbeat *heartbeat, uint32_t number) {
    if (heartbeat && number < heartbeat->n_threads)
        atomic_store_explicit(&heartbeat->pulses[number].task, NULL, memory_order_release);
}

/* ---- on the loop ---- */

static void ask_kernel(struct leat_heartbeat *heartbeat, struct leat_worker_view *view, pid_t tid,
                       uint64_t elapsed_ns) {
    struct leat_thread_state before = view->state;

    heartbeat->read(tid, &view->state);
    view->wait = leat_thread_state_judge(&view->state, view->is_looked_at ? &before : &view->state);
    view->quiet_ns = view->wait == LEAT_THREAD_COMPUTES ? 0 : view->quiet_ns + elapsed_ns;
    view->is_looked_at = true;
}

/* True if the worker has a task. */
static bool look_at(struct leat_heartbeat *heartbeat, uint32_t i, uint64_t elapsed_ns) {
    struct leat_pulse *pulse = &heartbeat->pulses[i];
    struct leat_worker_view *view = &heartbeat->views[i];
    struct leat_task *task = atomic_load_explicit(&pulse->task, memory_order_acquire);
    uint64_t n_begun = atomic_load_explicit(&pulse->n_begun, memory_order_relaxed);

    if (!task || n_begun != view->n_begun) {
        *view = (struct leat_worker_view){.n_begun = n_begun};
        return task != NULL;
    }
    view->age_ns += elapsed_ns;
    if (view->age_ns >= heartbeat->timeout_ns / 2)
        ask_kernel(heartbeat, view, atomic_load_explicit(&pulse->tid, memory_order_relaxed),
                   elapsed_ns);
    if (view->age_ns >= heartbeat->timeout_ns) {
        view->task = task;
        heartbeat->n_stalled++;
    }
    return true;
}

static bool has_lost_worker(const struct leat_heartbeat *heartbeat) {
    bool waits_for_lock = false, waits_for_storage = false;

    for (uint32_t i = 0; i < heartbeat->n_threads; i++) {
        const struct leat_worker_view *view = &heartbeat->views[i];

        waits_for_storage |= view->is_looked_at && view->wait == LEAT_THREAD_STORAGE;
        if (!view->task || view->quiet_ns < heartbeat->timeout_ns / 2)
            continue;
        if (view->wait == LEAT_THREAD_STOPPED || view->wait == LEAT_THREAD_DEAD)
            return true;
        waits_for_lock |= view->wait == LEAT_THREAD_LOCK;
    }
    return waits_for_lock && !waits_for_storage;
}

static void forget_views(struct leat_heartbeat *heartbeat) {
    heartbeat->n_stalled = 0;
    heartbeat->untaken_ns = 0;
    for (uint32_t i = 0; i < heartbeat->n_threads; i++)
        heartbeat->views[i] = (struct leat_worker_view){.n_begun = heartbeat->views[i].n_begun};
}

void leat_heartbeat_check(struct leat_heartbeat *heartbeat, uint64_t elapsed_ns,
                          uint32_t n_submitted) {
    uint32_t n_busy = 0;
    uint64_t n_begun = 0;

    if (heartbeat->timeout_ns == 0) { /* the setting may have changed */
        forget_views(heartbeat);
        return;
    }
    if (elapsed_ns > LEAT_HEARTBEAT_LOOK_NS)
        elapsed_ns = LEAT_HEARTBEAT_LOOK_NS;
    heartbeat->n_stalled = 0;
    for (uint32_t i = 0; i < heartbeat->n_threads; i++) {
        n_busy += look_at(heartbeat, i, elapsed_ns);
        n_begun += heartbeat->views[i].n_begun;
    }
    if (n_submitted > n_busy && n_busy < heartbeat->n_threads && n_begun == heartbeat->n_begun)
        heartbeat->untaken_ns += elapsed_ns;
    else
        heartbeat->untaken_ns = 0;
    heartbeat->n_begun = n_begun;
    if (heartbeat->untaken_ns >= heartbeat->timeout_ns || has_lost_worker(heartbeat))
        heartbeat->is_stuck = true;
}
