/* link.h: libleat's stream among Python's threads.
 *
 * libleat wants a stream, with its batches, to be used by one thread at a time. Here any thread may
 * use it: who does so enters, and leaves. A thread that waits for a batch inside is woken, lets the
 * others through, and waits again. Arrays die on whatever thread a framework drops them, without
 * the GIL: so the giving back of a slot never waits. If the stream is in use, the slot is left for
 * that thread to give back.
 *
 * A lease is a batch's slot. It is held by the Python objects made of it, which count as one until
 * the batch is released, and by each array that looks into it. The last of them gives it back.
 *
 * The mutex is held for moments, never while Python is called. In a forked child nothing of this is
 * touched: another thread of the parent may have had the mutex.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <Python.h>

#include "client/leat.h"

struct leat_py_lease;

struct leat_py_link {
    atomic_uint n_refs; /* the Stream object, and each lease */
    pid_t pid;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t is_left;
    struct leat_stream *stream; /* used by who has entered; NULL: closed */
    bool is_busy;
    bool is_closing;
    pthread_t user;
    uint32_t n_wanting; /* threads that want to enter for a moment */
    struct leat_py_lease *left_behind;

    atomic_uint n_leased;
    atomic_uint n_lingering; /* of these, released but looked into */

    struct leat_py_link *older; /* of those that a forked child is to close: fork.h */

    PyObject *reconnect; /* callable or NULL; the Stream object's, with the GIL */
    PyObject *raised;    /* by `reconnect` or a warning, and not told yet; or NULL */
    PyObject *owner;     /* the Stream object, borrowed; NULL once it is gone */
};

/* Not open yet. NULL: no memory. */
struct leat_py_link *leat_py_link_new(void);
void leat_py_link_unref(struct leat_py_link *link);

/* It has that stream from now on, which it takes. */
void leat_py_link_open(struct leat_py_link *link, struct leat_stream *take_stream);

/* With the GIL, which is let go of while another thread is inside. `is_waiting`: to wait for a
 * batch, and so after those that do not. 0; -1 with an exception: forked, closed, a signal, or this
 * very thread is inside. */
int leat_py_link_enter(struct leat_py_link *link, bool is_waiting);
/* GIL or not. */
void leat_py_link_leave(struct leat_py_link *link);
/* With the GIL. Closes the stream, if it is open; leases live on. 0 or -1 with an exception. */
int leat_py_link_close(struct leat_py_link *link);

struct leat_py_lease {
    struct leat_py_link *link;
    struct leat_batch *batch;
    struct leat_py_lease *next; /* among those left behind */
    atomic_uint n_refs;         /* owners and holds, of this struct */
    atomic_uint n_holds;        /* arrays, and one for all owners */
    pthread_mutex_t saving;     /* of who saves the batch */
    uint32_t n_owners;          /* Python objects; with the GIL */
    bool is_ended;              /* the owners' hold was let go of; with the GIL */
    bool is_lingering;
};

/* Of no batch yet; NULL with MemoryError. Until it begins it is merely freed. */
struct leat_py_lease *leat_py_lease_new(void);
/* It begins, with one owner. */
void leat_py_lease_begin(struct leat_py_lease *lease, struct leat_py_link *link,
                         struct leat_batch *take_batch);

/* With the GIL: another owner, one less. */
void leat_py_lease_own(struct leat_py_lease *lease);
void leat_py_lease_disown(struct leat_py_lease *lease);
/* With the GIL: the owners need it no more. Whether the slot went back at once. */
bool leat_py_lease_end(struct leat_py_lease *lease);

/* An array more, with the GIL and before the end of the lease; one less, on any thread. */
void leat_py_lease_hold(struct leat_py_lease *lease);
void leat_py_lease_unhold(struct leat_py_lease *lease);
