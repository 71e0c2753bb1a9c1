/* link.c: see link.h.
 *
 * A forked child that lives on, such as a worker of a DataLoader, would keep the session, and what
 * the daemon holds for it, beyond the end of its parent. So the process keeps a list of all open
 * streams, and a child closes their descriptors. The list's mutex is held across a fork. */
#include "client/python/src/stream/link.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"

#define LOOK_NS 100000000 /* how often a thread that waits to enter checks for signals */

/* ---- forks ---- */

static pthread_mutex_t open_links_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct leat_py_link *open_links;

static void lock_open_links(void) {
    (void)pthread_mutex_lock(&open_links_mutex);
}

static void unlock_open_links(void) {
    (void)pthread_mutex_unlock(&open_links_mutex);
}

static void forget_open_links(void) {
    for (struct leat_py_link *link = open_links; link; link = link->older)
        leat_stream_forget(link->stream);
    open_links = NULL;
    unlock_open_links();
}

static void add_open(struct leat_py_link *link) {
    lock_open_links();
    link->older = open_links;
    open_links = link;
    unlock_open_links();
}

static void remove_open(struct leat_py_link *link) {
    struct leat_py_link **place = &open_links;

    lock_open_links();
    while (*place && *place != link)
        place = &(*place)->older;
    if (*place)
        *place = link->older;
    unlock_open_links();
}

int leat_py_link_register(PyObject *module) {
    errno = pthread_atfork(lock_open_links, unlock_open_links, forget_open_links);
    if (errno == 0)
        return 0;
    PyErr_SetFromErrno(PyExc_OSError);
    return -1;
}

/* ---- the link ---- */

struct leat_py_link *leat_py_link_new(void) {
    struct leat_py_link *link = calloc(1, sizeof(*link));
    pthread_condattr_t attributes;

    if (!link)
        return NULL;
    link->pid = getpid();
    atomic_init(&link->n_refs, 1);
    (void)pthread_mutex_init(&link->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&link->is_left, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return link;
}

void leat_py_link_unref(struct leat_py_link *link) {
    if (atomic_fetch_sub(&link->n_refs, 1) > 1)
        return;
    (void)pthread_cond_destroy(&link->is_left);
    (void)pthread_mutex_destroy(&link->mutex);
    free(link);
}

void leat_py_link_open(struct leat_py_link *link, struct leat_stream *take_stream) {
    link->stream = take_stream;
    add_open(link);
}

/* ---- entering ---- */

static int check_process(const struct leat_py_link *link) {
    if (link->pid == getpid())
        return 0;
    leat_py_raise_text(-EPERM,
                       "this stream belongs to process %d, which called fork(): open the stream "
                       "again in the child process",
                       (int)link->pid);
    return -1;
}

/* With the mutex. Wakes a thread that waits for a batch, so that it lets others enter. */
static void wake(const struct leat_py_link *link) {
    if (link->stream && !link->is_closing)
        leat_stream_wake(link->stream);
}

static bool must_wait(const struct leat_py_link *link, bool is_waiting) {
    return link->is_busy || (is_waiting && link->n_wanting > 0);
}

static void wait_a_while(struct leat_py_link *link) {
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&link->is_left, &link->mutex, &until);
}

/* With the mutex, which is unlocked while Python runs. 0 or -1 with an exception. */
static int wait_to_enter(struct leat_py_link *link, bool is_waiting) {
    int r = 0;

    while (r == 0 && must_wait(link, is_waiting)) {
        PyThreadState *thread;

        (void)pthread_mutex_unlock(&link->mutex);
        thread = PyEval_SaveThread();
        (void)pthread_mutex_lock(&link->mutex);
        link->n_wanting += !is_waiting;
        if (link->is_busy && !is_waiting)
            wake(link);
        if (must_wait(link, is_waiting))
            wait_a_while(link);
        link->n_wanting -= !is_waiting;
        (void)pthread_mutex_unlock(&link->mutex);
        PyEval_RestoreThread(thread);
        r = PyErr_CheckSignals();
        (void)pthread_mutex_lock(&link->mutex);
    }
    return r;
}

int leat_py_link_enter(struct leat_py_link *link, bool is_waiting) {
    int r = check_process(link);

    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&link->mutex);
    if (link->is_busy && pthread_equal(link->user, pthread_self())) {
        (void)pthread_mutex_unlock(&link->mutex);
        PyErr_SetString(
            PyExc_RuntimeError,
            "a call of this stream is still running: do not use the stream in its callback");
        return -1;
    }
    if (must_wait(link, is_waiting))
        r = wait_to_enter(link, is_waiting);
    if (r == 0 && !link->stream) {
        (void)pthread_mutex_unlock(&link->mutex);
        leat_py_raise_text(-EBADF, "the stream is closed: open it again");
        return -1;
    }
    if (r == 0) {
        link->is_busy = true;
        link->user = pthread_self();
    }
    (void)pthread_mutex_unlock(&link->mutex);
    return r;
}

static void lease_unref(struct leat_py_lease *lease) {
    struct leat_py_link *link = lease->link;

    if (atomic_fetch_sub(&lease->n_refs, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&lease->saving);
    free(lease);
    leat_py_link_unref(link);
}

/* With the mutex. Returns the leases, whose references are the caller's now. */
static struct leat_py_lease *release_left_behind(struct leat_py_link *link) {
    struct leat_py_lease *leases = link->left_behind;

    link->left_behind = NULL;
    for (struct leat_py_lease *lease = leases; lease; lease = lease->next)
        leat_batch_release(lease->batch);
    return leases;
}

void leat_py_link_leave(struct leat_py_link *link) {
    struct leat_py_lease *leases;

    (void)pthread_mutex_lock(&link->mutex);
    leases = release_left_behind(link);
    link->is_busy = false;
    (void)pthread_cond_broadcast(&link->is_left);
    (void)pthread_mutex_unlock(&link->mutex);
    while (leases) {
        struct leat_py_lease *lease = leases;

        leases = lease->next;
        lease_unref(lease);
    }
}

int leat_py_link_close(struct leat_py_link *link) {
    if (!link->stream || link->pid != getpid())
        return 0;
    if (leat_py_link_enter(link, false) < 0) {
        if (link->stream)
            return -1;
        PyErr_Clear(); /* another thread closed it meanwhile */
        return 0;
    }
    (void)pthread_mutex_lock(&link->mutex);
    link->is_closing = true;
    (void)pthread_mutex_unlock(&link->mutex);
    remove_open(link);
    leat_stream_close(link->stream);
    (void)pthread_mutex_lock(&link->mutex);
    link->stream = NULL;
    (void)pthread_mutex_unlock(&link->mutex);
    leat_py_link_leave(link);
    return 0;
}

/* ---- leases ---- */

struct leat_py_lease *leat_py_lease_new(void) {
    struct leat_py_lease *lease = calloc(1, sizeof(*lease));

    if (!lease)
        PyErr_NoMemory();
    return lease;
}

void leat_py_lease_begin(struct leat_py_lease *lease, struct leat_py_link *link,
                         struct leat_batch *take_batch) {
    lease->link = link;
    lease->batch = take_batch;
    lease->n_owners = 1;
    (void)pthread_mutex_init(&lease->saving, NULL);
    atomic_init(&lease->n_refs, 1);
    atomic_init(&lease->n_holds, 1);
    atomic_fetch_add(&link->n_refs, 1);
    atomic_fetch_add(&link->n_leased, 1);
}

/* Returns the slot: at once, or by the thread that is using the stream. */
static void give_back(struct leat_py_lease *lease) {
    struct leat_py_link *link = lease->link;

    atomic_fetch_sub(&link->n_leased, 1);
    if (lease->is_lingering)
        atomic_fetch_sub(&link->n_lingering, 1);
    if (link->pid != getpid())
        return;
    (void)pthread_mutex_lock(&link->mutex);
    if (link->is_busy) {
        atomic_fetch_add(&lease->n_refs, 1);
        lease->next = link->left_behind;
        link->left_behind = lease;
        wake(link);
    } else {
        leat_batch_release(lease->batch);
    }
    (void)pthread_mutex_unlock(&link->mutex);
}

/* True if this was the last hold, and the slot was returned. */
static bool drop_hold(struct leat_py_lease *lease) {
    if (atomic_fetch_sub(&lease->n_holds, 1) > 1)
        return false;
    give_back(lease);
    return true;
}

void leat_py_lease_own(struct leat_py_lease *lease) {
    lease->n_owners++;
    atomic_fetch_add(&lease->n_refs, 1);
}

bool leat_py_lease_end(struct leat_py_lease *lease) {
    if (lease->is_ended)
        return atomic_load(&lease->n_holds) == 0;
    lease->is_ended = true;
    if (atomic_load(&lease->n_holds) > 1) {
        lease->is_lingering = true;
        atomic_fetch_add(&lease->link->n_lingering, 1);
    }
    return drop_hold(lease);
}

void leat_py_lease_disown(struct leat_py_lease *lease) {
    if (--lease->n_owners == 0)
        (void)leat_py_lease_end(lease);
    lease_unref(lease);
}

void leat_py_lease_hold(struct leat_py_lease *lease) {
    atomic_fetch_add(&lease->n_refs, 1);
    atomic_fetch_add(&lease->n_holds, 1);
}

void leat_py_lease_unhold(struct leat_py_lease *lease) {
    (void)drop_hold(lease);
    lease_unref(lease);
}
