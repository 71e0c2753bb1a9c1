/* stream.c: `_leat.Stream`, an open stream. Its description becomes Python objects at the opening;
 * next() is the one hot call.
 *
 * next() polls for a batch with the GIL, which is quicker than to release it and queue for it
 * again. It releases the GIL only to wait. It waits in slices, since a signal that comes just
 * before a wait would not end it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdlib.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/raise.h"
#include "client/python/src/stream/link.h"
#include "client/python/src/types.h"
#include "proto/base/clock.h"

#define SLICE_MS  500 /* how often a waiting thread checks for signals */
#define ANY_EPOCH UINT64_MAX

struct stream {
    PyObject_HEAD struct leat_py_link *link;
    PyObject *batch_type;
    PyObject *names;                        /* of the tensors: a tuple of interned texts */
    PyObject *description;                  /* a dict of attributes */
    PyObject *last_position, *last_numbers; /* set when it is closed */
    uint64_t version;                       /* of the stream when it was described */
    bool is_copy;                           /* delivery "copy": a poll may decompress */
    unsigned long long waited_ns, n_batches;
    _Atomic unsigned long long
        n_ends; /* ends of epochs that next() returned; written inside the link */
};

static PyTypeObject *stream_type;

/* ---- description ---- */

static PyObject *shape_of(const struct leat_tensor_info *info) {
    PyObject *shape = PyTuple_New((Py_ssize_t)info->ndim);

    for (uint32_t d = 0; shape && d < info->ndim; d++)
        (void)PyTuple_SetItem(shape, (Py_ssize_t)d, PyLong_FromLongLong(info->shape[d]));
    return shape;
}

/* Fills the tuples `names` and `tensors`. Returns 0, or -1 with an exception. */
static int fill_tensors(PyObject *names, PyObject *tensors, const struct leat_stream *stream) {
    for (size_t i = 0; i < leat_stream_n_tensors(stream); i++) {
        const struct leat_tensor_info *info = leat_stream_tensor(stream, i);
        PyObject *name = PyUnicode_InternFromString(info->name);
        PyObject *tensor =
            name ? Py_BuildValue("OsN", name, info->dtype_name, shape_of(info)) : NULL;

        if (!tensor) {
            Py_XDECREF(name);
            return -1;
        }
        (void)PyTuple_SetItem(names, (Py_ssize_t)i, name);
        (void)PyTuple_SetItem(tensors, (Py_ssize_t)i, tensor);
    }
    return 0;
}

/* Inside the link, with the GIL. Returns 0, or -1 with an exception: the old description stays. */
static int describe(struct stream *self, struct leat_stream *stream) {
    Py_ssize_t n = (Py_ssize_t)leat_stream_n_tensors(stream);
    const char *name = leat_stream_name(stream);
    PyObject *names = PyTuple_New(n), *tensors = PyTuple_New(n), *made = NULL;
    uint64_t n_steps;
    bool is_known = leat_stream_n_steps(stream, &n_steps) == 0;

    self->version = leat_stream_version(stream);
    if (names && tensors && fill_tensors(names, tensors, stream) == 0)
        made = Py_BuildValue(
            "{sN sO sK sI sI sI ss sy# sN ss ss ss ss}", "name",
            PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace"), "tensors", tensors,
            "batch_size", (unsigned long long)leat_stream_batch_size(stream), "window",
            leat_stream_window(stream), "rank", leat_stream_rank(stream), "world_size",
            leat_stream_world_size(stream), "rank_source", leat_stream_rank_source(stream),
            "digest", (const char *)leat_stream_digest(stream), (Py_ssize_t)32, "n_steps",
            is_known ? PyLong_FromUnsignedLongLong(n_steps) : Py_NewRef(Py_None), "steps_reason",
            leat_stream_steps_reason(stream), "left_out", leat_stream_left_out(stream), "files",
            leat_stream_files(stream), "order", strrchr(leat_stream_fingerprint(stream), ':'));
    Py_XDECREF(tensors);
    if (!made) {
        Py_XDECREF(names);
        return -1;
    }
    Py_XDECREF(self->names);
    Py_XDECREF(self->description);
    self->names = names;
    self->description = made;
    return 0;
}

/* The closure is the name of an attribute. */
static PyObject *stream_described(PyObject *object, void *closure) {
    PyObject *value = PyDict_GetItemString(((struct stream *)object)->description, closure);

    return Py_XNewRef(value);
}

/* True if the stream changed, by a reconnection or a reload of the daemon's settings. */
static bool is_other(const struct stream *self, const struct leat_stream *stream) {
    return leat_stream_version(stream) != self->version;
}

/* Keeps the old description if there is no memory, so that no batch is lost. */
static void describe_again(struct stream *self, struct leat_stream *stream) {
    if (is_other(self, stream) && describe(self, stream) < 0)
        PyErr_Clear();
}

PyObject *leat_py_stream_new(struct leat_py_link *take_link, struct leat_stream *take_stream,
                             bool is_copy, PyObject *batch_type) {
    struct stream *self = (struct stream *)PyType_GenericAlloc(stream_type, 0);

    if (!self) {
        leat_stream_close(take_stream);
        leat_py_link_unref(take_link);
        return NULL;
    }
    leat_py_link_open(take_link, take_stream);
    self->link = take_link;
    self->link->owner = (PyObject *)self;
    self->batch_type = Py_NewRef(batch_type);
    self->is_copy = is_copy;
    if (describe(self, take_stream) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* ---- positions ---- */

static PyObject *numbers_of(const struct leat_stream *stream) {
    uint64_t epoch, step;

    leat_stream_position_numbers(stream, &epoch, &step);
    return Py_BuildValue("KK", (unsigned long long)epoch, (unsigned long long)step);
}

/* With a closure: the numbers of the position. */
static PyObject *stream_position(PyObject *object, void *closure) {
    struct stream *self = (struct stream *)object;
    PyObject *position = closure ? self->last_numbers : self->last_position;

    if (position)
        return Py_NewRef(position);
    if (leat_py_link_enter(self->link, false) < 0)
        return NULL;
    position = closure ? numbers_of(self->link->stream)
                       : PyUnicode_FromString(leat_stream_position(self->link->stream));
    leat_py_link_leave(self->link);
    return position;
}

static PyObject *stream_n_ends(PyObject *object, void *closure) {
    return PyLong_FromUnsignedLongLong(atomic_load(&((struct stream *)object)->n_ends));
}

/* ---- next ---- */

struct pull {
    struct leat_stream *stream;
    struct leat_batch *batch;
    struct leat_error *error; /* if r < 0; NULL: no memory */
    int r;                    /* of leat_stream_next(); -EAGAIN: nothing came yet */
    bool has_n_steps;         /* at the end of an epoch */
    uint64_t n_steps;
};

/* A timeout or a signal ends a slice of the wait, not the wait. */
static void pull(struct pull *pull, int timeout_ms) {
    pull->r = leat_stream_next(pull->stream, timeout_ms, &pull->batch);
    if (pull->r == -ETIMEDOUT || pull->r == -EINTR)
        pull->r = -EAGAIN;
    if (pull->r < 0 && pull->r != -EAGAIN && pull->r != -ENOBUFS)
        pull->error = leat_error_copy(leat_stream_error(pull->stream));
}

/* The milliseconds of the next slice of the wait. */
static int slice_ms(uint64_t deadline_ns) {
    uint64_t now = leat_now_ns();
    uint64_t left_ms = deadline_ns > now ? (deadline_ns - now + 999999) / 1000000 : 0;

    return left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
}

/* True if a poll neither connects nor decompresses. */
static bool is_quick(const struct stream *self, const struct leat_stream *stream) {
    return leat_stream_is_connected(stream) && !self->is_copy;
}

/* Without the GIL: polls, unless that was done, and waits. */
static void wait_for(struct pull *ret, bool has_polled, bool may_wait, uint64_t deadline_ns) {
    if (!has_polled)
        pull(ret, 0);
    if (ret->r == -EAGAIN && may_wait)
        pull(ret, slice_ms(deadline_ns));
}

/* Leaves the link. Counts the end of an epoch, which one thread alone is to get. */
static void leave_pulled(struct stream *self, struct pull *pull) {
    if (pull->r > 0) {
        atomic_fetch_add(&self->n_ends, 1);
        pull->has_n_steps = leat_stream_n_steps(self->link->stream, &pull->n_steps) == 0;
    }
    leat_py_link_leave(self->link);
}

/* Polls for a batch once, and waits once if there is none. Does neither for a caller whose epoch
 * has ended: another thread got its end. Returns 0, or -1 with an exception. */
static int pull_once(struct stream *self, struct pull *ret, uint64_t deadline_ns, bool may_wait,
                     uint64_t n_ends) {
    struct leat_py_link *link = self->link;
    PyThreadState *thread;
    bool has_polled;

    if (leat_py_link_enter(link, true) < 0)
        return -1;
    *ret = (struct pull){.stream = link->stream};
    if (n_ends != ANY_EPOCH && atomic_load(&self->n_ends) != n_ends) {
        ret->r = LEAT_END_EPOCH;
        leat_py_link_leave(link);
        return 0;
    }
    has_polled = is_quick(self, link->stream);
    if (has_polled)
        pull(ret, 0);
    if (!has_polled || (ret->r == -EAGAIN && may_wait)) {
        thread = PyEval_SaveThread();
        wait_for(ret, has_polled, may_wait, deadline_ns);
        if (!is_other(self, link->stream)) {
            leave_pulled(self, ret);
            PyEval_RestoreThread(thread);
            return 0;
        }
        PyEval_RestoreThread(thread);
    }
    describe_again(self, link->stream);
    leave_pulled(self, ret);
    return 0;
}

static PyObject *raise_all_held(const struct stream *self) {
    const struct leat_py_link *link = self->link;
    unsigned n_held = atomic_load(&link->n_leased);
    unsigned n_lingering = atomic_load(&link->n_lingering);

    if (n_lingering == 0)
        return leat_py_raise_text(
            -ENOBUFS,
            "you hold %u batches, and `window` allows no more: release() some, make copies with "
            "to(..), or open the stream with a larger window",
            n_held);
    return leat_py_raise_text(-ENOBUFS,
                              "you hold %u batches, and `window` allows no more. You have released "
                              "%u of them, but arrays still use their memory: delete the arrays, "
                              "make copies with to(..), or open the stream with a larger window",
                              n_held, n_lingering);
}

static PyObject *raise_late(double timeout) {
    if (timeout > 0)
        return leat_py_raise_text(-ETIMEDOUT, "no batch came within %g s", timeout);
    return leat_py_raise_text(-EAGAIN, "no batch is ready yet");
}

/* Collects garbage, even if that is off: batches in dead cycles, such as tracebacks make, hold
 * slots. True at the first call. */
static bool collect_once(bool *has_collected) {
    int was_on;

    if (*has_collected)
        return false;
    *has_collected = true;
    was_on = PyGC_Enable();
    (void)PyGC_Collect();
    if (!was_on)
        (void)PyGC_Disable();
    return true;
}

static PyObject *make_batch(struct stream *self, struct leat_py_lease *take_lease,
                            const struct pull *pull) {
    leat_py_lease_begin(take_lease, self->link, pull->batch);
    self->n_batches++;
    return leat_py_batch_new(self->batch_type, take_lease, self->names);
}

/* Raises what `reconnect` or a warning raised, and returns -1; 0 if they raised nothing. */
static int raise_kept(struct stream *self) {
    PyObject *raised = self->link->raised;

    if (!raised)
        return 0;
    self->link->raised = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_DECREF(raised);
    return -1;
}

static PyObject *make_end(struct stream *self, const struct pull *pull) {
    PyObject *n_steps = pull->has_n_steps ? PyLong_FromUnsignedLongLong(pull->n_steps) : NULL;

    if (n_steps)
        (void)PyDict_SetItemString(self->description, "n_steps", n_steps);
    Py_XDECREF(n_steps);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(pull->r);
}

/* timeout in seconds; < 0: without limit. */
static PyObject *next(struct stream *self, double timeout, uint64_t n_ends,
                      struct leat_py_lease *take_lease) {
    uint64_t deadline_ns = UINT64_MAX;
    bool has_collected = false;
    struct pull pull;

    if (timeout >= 0)
        deadline_ns = leat_now_ns() + (uint64_t)(timeout * 1e9);
    for (;;) {
        if (pull_once(self, &pull, deadline_ns, timeout != 0, n_ends) < 0)
            break;
        if (pull.r == 0)
            return make_batch(self, take_lease, &pull);
        if (pull.r == -EAGAIN && raise_kept(self) < 0)
            break;
        if (pull.r == -ENOBUFS && collect_once(&has_collected))
            continue;
        if (pull.r == -EAGAIN && PyErr_CheckSignals() < 0)
            break;
        if (pull.r == -EAGAIN && (deadline_ns == UINT64_MAX || leat_now_ns() < deadline_ns))
            continue;
        free(take_lease);
        if (pull.r > 0)
            return make_end(self, &pull);
        if (pull.r == -EAGAIN)
            return raise_late(timeout);
        return pull.r == -ENOBUFS ? raise_all_held(self) : leat_py_raise_run(pull.error);
    }
    free(take_lease);
    return NULL;
}

/* Reads seconds; None: without limit. Returns 0, or -1 with an exception. */
static int read_timeout(PyObject *timeout, double *ret) {
    *ret = -1;
    if (!timeout || timeout == Py_None)
        return 0;
    *ret = PyFloat_AsDouble(timeout);
    if (*ret == -1 && PyErr_Occurred())
        return -1;
    if (*ret >= 0 && *ret <= 1e9)
        return 0;
    leat_py_raise_text(-EINVAL, "timeout is %g s, but it must be in 0..1e9, or None for no limit",
                       *ret);
    return -1;
}

static PyObject *stream_next(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"timeout", "n_ends", NULL};
    struct stream *self = (struct stream *)object;
    unsigned long long n_ends = ANY_EPOCH;
    PyObject *timeout = NULL, *result;
    struct leat_py_lease *lease;
    double seconds;
    uint64_t start_ns;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OK", names, &timeout, &n_ends) ||
        read_timeout(timeout, &seconds) < 0)
        return NULL;
    if (raise_kept(self) < 0) /* by the last call, which returned a batch */
        return NULL;
    lease = leat_py_lease_new();
    if (!lease)
        return NULL;
    start_ns = leat_now_ns();
    result = next(self, seconds, n_ends, lease);
    self->waited_ns += leat_now_ns() - start_ns;
    return result;
}

/* ---- other methods ---- */

/* Returns 0, or -1 with an exception. (The format "K" would wrap numbers outside the range.) */
static int read_number(const char *name, PyObject *given, unsigned long long *ret) {
    PyObject *number = PyNumber_Index(given);

    *ret = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (!PyErr_Occurred())
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    PyErr_Clear();
    leat_py_raise_text(-EINVAL, "%s is outside 0..18446744073709551615", name);
    return -1;
}

/* Leaves the link after a call that moved the stream and returned r. is_end: a thread that waits
 * for a batch of the old epoch gets none of the new place. */
static PyObject *leave_moved(struct stream *self, int r, bool is_end) {
    struct leat_error *error = NULL;

    if (r < 0)
        error = leat_error_copy(leat_stream_error(self->link->stream));
    else if (is_end)
        atomic_fetch_add(&self->n_ends, 1);
    leat_py_link_leave(self->link);
    if (r < 0)
        return leat_py_raise_copy(error);
    Py_RETURN_NONE;
}

static PyObject *stream_seek(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"epoch", "step", NULL};
    struct leat_py_link *link = ((struct stream *)object)->link;
    PyObject *given_epoch, *given_step = NULL;
    unsigned long long epoch, step = 0;
    int r;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", names, &given_epoch, &given_step) ||
        read_number("epoch", given_epoch, &epoch) < 0 ||
        (given_step && read_number("step", given_step, &step) < 0) ||
        leat_py_link_enter(link, false) < 0)
        return NULL;
    r = leat_stream_seek(link->stream, epoch, step);
    return leave_moved((struct stream *)object, r, true);
}

/* Calls `go` with the stream, inside the link. */
static PyObject *move(PyObject *object, int (*go)(struct leat_stream *), bool is_end) {
    struct stream *self = (struct stream *)object;

    if (leat_py_link_enter(self->link, false) < 0)
        return NULL;
    return leave_moved(self, go(self->link->stream), is_end);
}

static PyObject *stream_pause(PyObject *object, PyObject *args) {
    return move(object, leat_stream_pause, false);
}

static PyObject *stream_skip_epoch(PyObject *object, PyObject *args) {
    return move(object, leat_stream_skip_epoch, true);
}

static PyObject *stream_fileno(PyObject *object, PyObject *args) {
    struct leat_py_link *link = ((struct stream *)object)->link;
    int fd;

    if (leat_py_link_enter(link, false) < 0)
        return NULL;
    fd = leat_stream_fd(link->stream);
    leat_py_link_leave(link);
    if (fd < 0)
        return leat_py_raise_text(fd, "cannot get the descriptor of the stream: %s", strerror(-fd));
    return PyLong_FromLong(fd);
}

/* Keeps the position for after the end. Returns 0, or -1 with an exception. */
static int keep_position(struct stream *self) {
    if (self->last_position || !self->link->stream)
        return 0;
    if (leat_py_link_enter(self->link, false) < 0) {
        if (self->link->stream)
            return -1;
        PyErr_Clear(); /* another thread closed it meanwhile */
        return 0;
    }
    if (!self->last_position) { /* no other thread set it meanwhile */
        self->last_position = PyUnicode_FromString(leat_stream_position(self->link->stream));
        self->last_numbers = numbers_of(self->link->stream);
    }
    leat_py_link_leave(self->link);
    return self->last_position && self->last_numbers ? 0 : -1;
}

static PyObject *stream_close(PyObject *object, PyObject *args) {
    struct stream *self = (struct stream *)object;

    if (self->link->pid == getpid() && keep_position(self) < 0)
        return NULL;
    if (leat_py_link_close(self->link) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_n_held(PyObject *object, void *closure) {
    return PyLong_FromUnsignedLong(atomic_load(&((struct stream *)object)->link->n_leased));
}

static PyObject *stream_is_closed(PyObject *object, void *closure) {
    return PyBool_FromLong(((struct stream *)object)->link->stream == NULL);
}

/* Only `reconnect` may lead back to the stream, in a cycle. */
static int stream_traverse(PyObject *object, visitproc visit, void *arg) {
    struct stream *self = (struct stream *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->batch_type);
    Py_VISIT(self->link->reconnect);
    Py_VISIT(self->link->raised);
    return 0;
}

static int stream_clear(PyObject *object) {
    struct stream *self = (struct stream *)object;

    Py_CLEAR(self->link->reconnect);
    Py_CLEAR(self->link->raised);
    return 0;
}

static void stream_dealloc(PyObject *object) {
    struct stream *self = (struct stream *)object;
    PyObject *members[] = {self->batch_type,    self->names,        self->description,
                           self->last_position, self->last_numbers, self->link->reconnect,
                           self->link->raised};

    PyObject_GC_UnTrack(object);
    self->link->owner = NULL;
    if (leat_py_link_close(self->link) < 0)
        PyErr_WriteUnraisable(object);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        Py_XDECREF(members[i]);
    leat_py_link_unref(self->link);
    leat_py_object_free(object);
}

static PyMethodDef methods[] = {
    {"next", LEAT_PY_KEYWORDS(stream_next), NULL},
    {"seek", LEAT_PY_KEYWORDS(stream_seek), NULL},
    {"pause", stream_pause, METH_NOARGS, NULL},
    {"skip_epoch", stream_skip_epoch, METH_NOARGS, NULL},
    {"fileno", stream_fileno, METH_NOARGS, NULL},
    {"close", stream_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"waited_ns", T_ULONGLONG, offsetof(struct stream, waited_ns), READONLY, NULL},
    {"n_batches", T_ULONGLONG, offsetof(struct stream, n_batches), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define DESCRIBED(name)                                                                            \
    { name, stream_described, NULL, NULL, (void *)(uintptr_t)name }

static PyGetSetDef getters[] = {
    DESCRIBED("name"),
    DESCRIBED("tensors"),
    DESCRIBED("batch_size"),
    DESCRIBED("window"),
    DESCRIBED("rank"),
    DESCRIBED("world_size"),
    DESCRIBED("rank_source"),
    DESCRIBED("digest"),
    DESCRIBED("n_steps"),
    DESCRIBED("steps_reason"),
    DESCRIBED("left_out"),
    DESCRIBED("files"),
    DESCRIBED("order"),
    {"position", stream_position, NULL, NULL, NULL},
    {"position_numbers", stream_position, NULL, NULL, (void *)1},
    {"n_ends", stream_n_ends, NULL, NULL, NULL},
    {"n_held", stream_n_held, NULL, NULL, NULL},
    {"is_closed", stream_is_closed, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_traverse, stream_traverse},
    {Py_tp_clear, stream_clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, NULL},
};

int leat_py_stream_register(PyObject *module) {
    stream_type = leat_py_type_add(module, "leat._leat.Stream", sizeof(struct stream),
                                   Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return stream_type ? 0 : -1;
}
