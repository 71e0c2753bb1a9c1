/* link.h: a stream of libleat, used by several of Python's threads.
 *
 * libleat wants a stream and its batches to be used by one thread at a time. Here a thread enters
 * the link before it uses the stream, and leaves it afterwards. A thread that waits for a batch
 * inside is woken, lets the others enter, and waits again. Frameworks drop arrays on any thread,
 * without the GIL, so returning a slot never waits: if the stream is in use, the thread that uses
 * it returns the slot.
 *
 * A lease is a batch's slot. The Python objects made of a batch own it and hold it once, together,
 * until the batch is released; each array over the slot holds it once more. The last hold returns
 * the slot.
 *
 * The mutex is held for moments, and never while Python is called. A forked child touches nothing
 * of this, since another thread of the parent may have held the mutex.
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
    pid_t pid;          /* of the process that opened the stream */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t is_left;
    struct leat_stream *stream; /* used by the thread that has entered; NULL: closed */
    bool is_busy;
    bool is_closing;
    pthread_t user;
    uint32_t n_wanting;                /* threads that want to enter without waiting for a batch */
    struct leat_py_lease *left_behind; /* their slots are returned by the thread that leaves */

    atomic_uint n_leased;
    atomic_uint n_lingering; /* of these: released, but an array holds them */

    struct leat_py_link *older; /* among the open streams of this process */

    PyObject *reconnect; /* callable or NULL; owned by the Stream object, with the GIL */
    PyObject
        *raised;     /* an exception of `reconnect` or a warning, to be raised by next(); or NULL */
    PyObject *owner; /* the Stream object, borrowed; NULL once it is gone */
};

/* Makes a link without a stream. NULL: no memory. */
struct leat_py_link *leat_py_link_new(void);
void leat_py_link_unref(struct leat_py_link *link);

/* Gives the link its stream. */
void leat_py_link_open(struct leat_py_link *link, struct leat_stream *take_stream);

/* With the GIL, which is released while another thread is inside. `is_waiting`: the caller will
 * wait for a batch, so callers that will not go first. Returns 0, or -1 with an exception: forked,
 * closed, a signal, or this very thread is inside. */
int leat_py_link_enter(struct leat_py_link *link, bool is_waiting);
/* With or without the GIL. */
void leat_py_link_leave(struct leat_py_link *link);
/* With the GIL. Closes the stream if it is open; leases live on. 0 or -1 with an exception. */
int leat_py_link_close(struct leat_py_link *link);

struct leat_py_lease {
    struct leat_py_link *link;
    struct leat_batch *batch;
    struct leat_py_lease *next; /* among those left behind */
    atomic_uint n_refs;         /* owners and holds keep this struct */
    atomic_uint n_holds;        /* one for each array, and one for all owners */
    pthread_mutex_t saving;     /* held while the batch is saved */
    uint32_t n_owners;          /* Python objects; with the GIL */
    bool is_ended;              /* the owners' hold is gone; with the GIL */
    bool is_lingering;
};

/* Makes a lease of no batch, to be freed by free() until it begins. NULL with MemoryError. */
struct leat_py_lease *leat_py_lease_new(void);
/* Gives the lease its batch, and its first owner. */
void leat_py_lease_begin(struct leat_py_lease *lease, struct leat_py_link *link,
                         struct leat_batch *take_batch);

/* With the GIL: adds or removes an owner. */
void leat_py_lease_own(struct leat_py_lease *lease);
void leat_py_lease_disown(struct leat_py_lease *lease);
/* With the GIL: drops the owners' hold. True if the slot was returned at once. */
bool leat_py_lease_end(struct leat_py_lease *lease);

/* Adds an array's hold: with the GIL, and before the lease ends. */
void leat_py_lease_hold(struct leat_py_lease *lease);
/* Drops it: on any thread. */
void leat_py_lease_unhold(struct leat_py_lease *lease);
