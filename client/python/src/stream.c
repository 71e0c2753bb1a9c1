/* stream.c: `_leat.Stream`: an open stream. What stays for a session is made into Python objects at
 * its opening; next() is the one hot call.
 *
 * next() looks for a batch without letting go of the GIL, which is quicker than to hand it over and
 * to queue for it again; only where it has to wait does it let go. It waits in pieces, since a
 * signal that comes just before a wait begins would not end it.
 */
#include <Python.h>
#include <errno.h>
#include <stdlib.h>
#include <structmember.h>
#include <time.h>
#include <unistd.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"

#define LOOK_MS 500 /* how often who waits looks for signals */

#define ANY_EPOCH UINT64_MAX

struct stream {
    PyObject_HEAD struct leat_py_link *link;
    PyObject *batch_type;
    PyObject *names; /* of the tensors: a tuple of interned texts */
    PyObject *name, *tensors, *batch_size, *window, *rank, *world_size, *rank_source, *digest,
        *n_steps, *steps_reason, *left_out;
    PyObject *last_position, *last_numbers; /* once it is closed */
    uint64_t version;                       /* of the description that these were made of */
    bool is_copy;                           /* delivery: a look may decompress */
    unsigned long long waited_ns, n_batches;
    _Atomic unsigned long long n_ends; /* of epochs that were told; written by who has the link */
};

static PyTypeObject *stream_type;

/* ---- what stays for a session ---- */

/* NULL: what there was stays. */
static void put(PyObject **place, PyObject *take_value) {
    PyObject *old = *place;

    if (!take_value)
        return;
    *place = take_value;
    Py_XDECREF(old);
}

static PyObject *shape_of(const struct leat_tensor_info *info) {
    PyObject *shape = PyTuple_New((Py_ssize_t)info->ndim);

    for (uint32_t d = 0; shape && d < info->ndim; d++)
        (void)PyTuple_SetItem(shape, (Py_ssize_t)d, PyLong_FromLongLong(info->shape[d]));
    return shape;
}

/* The tuples `names` and `tensors`. 0 or -1 with an exception. */
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

static void describe_tensors(struct stream *self, const struct leat_stream *stream) {
    Py_ssize_t n = (Py_ssize_t)leat_stream_n_tensors(stream);
    PyObject *names = PyTuple_New(n);
    PyObject *tensors = PyTuple_New(n);

    if (!names || !tensors || fill_tensors(names, tensors, stream) < 0) {
        Py_XDECREF(names);
        Py_XDECREF(tensors);
        return;
    }
    put(&self->names, names);
    put(&self->tensors, tensors);
}

/* Whoever has entered, with the GIL. 0; -1 with an exception: some of it is as before, or NULL. */
static int describe(struct stream *self, const struct leat_stream *stream) {
    const char *name = leat_stream_name(stream);
    uint64_t n_steps;
    bool is_known = leat_stream_n_steps(stream, &n_steps) == 0;

    self->version = leat_stream_version(stream);
    describe_tensors(self, stream);
    put(&self->name, PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace"));
    put(&self->batch_size, PyLong_FromUnsignedLongLong(leat_stream_batch_size(stream)));
    put(&self->window, PyLong_FromUnsignedLong(leat_stream_window(stream)));
    put(&self->rank, PyLong_FromUnsignedLong(leat_stream_rank(stream)));
    put(&self->world_size, PyLong_FromUnsignedLong(leat_stream_world_size(stream)));
    put(&self->rank_source, PyUnicode_FromString(leat_stream_rank_source(stream)));
    put(&self->digest, PyBytes_FromStringAndSize((const char *)leat_stream_digest(stream), 32));
    put(&self->n_steps, is_known ? PyLong_FromUnsignedLongLong(n_steps) : Py_NewRef(Py_None));
    put(&self->steps_reason, PyUnicode_FromString(leat_stream_steps_reason(stream)));
    put(&self->left_out, PyUnicode_FromString(leat_stream_left_out(stream)));
    return PyErr_Occurred() ? -1 : 0;
}

/* After a reconnection or a reload of the daemon's settings the stream may have changed. */
static bool is_other(const struct stream *self, const struct leat_stream *stream) {
    return leat_stream_version(stream) != self->version;
}

/* As describe(); without memory it stays as it was, since a batch may be on its way. */
static void describe_again(struct stream *self, const struct leat_stream *stream) {
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

static PyObject *stream_position(PyObject *object, void *closure) {
    struct stream *self = (struct stream *)object;
    PyObject *position;

    (void)closure;
    if (self->last_position)
        return Py_NewRef(self->last_position);
    if (leat_py_link_enter(self->link, false) < 0)
        return NULL;
    position = PyUnicode_FromString(leat_stream_position(self->link->stream));
    leat_py_link_leave(self->link);
    return position;
}

static PyObject *stream_n_ends(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromUnsignedLongLong(atomic_load(&((struct stream *)object)->n_ends));
}

static PyObject *stream_position_numbers(PyObject *object, void *closure) {
    struct stream *self = (struct stream *)object;
    PyObject *numbers;

    (void)closure;
    if (self->last_numbers)
        return Py_NewRef(self->last_numbers);
    if (leat_py_link_enter(self->link, false) < 0)
        return NULL;
    numbers = numbers_of(self->link->stream);
    leat_py_link_leave(self->link);
    return numbers;
}

/* ---- next ---- */

struct pull {
    struct leat_stream *stream;
    struct leat_batch *batch;
    struct leat_error *error; /* of a failure; NULL: no memory */
    int r;
    bool has_n_steps; /* at the end of an epoch */
    uint64_t n_steps;
};

static uint64_t now_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* A timeout or a signal ends a piece of the wait only: as if nothing were there yet. */
static void pull(struct pull *pull, int timeout_ms) {
    pull->r = leat_stream_next(pull->stream, timeout_ms, &pull->batch);
    if (pull->r == -ETIMEDOUT || pull->r == -EINTR)
        pull->r = -EAGAIN;
    if (pull->r < 0 && pull->r != -EAGAIN && pull->r != -ENOBUFS)
        pull->error = leat_error_copy(leat_stream_error(pull->stream));
}

/* Milliseconds to wait, a piece of the time that is left. */
static int piece_ms(uint64_t deadline_ns) {
    uint64_t now = now_ns();
    uint64_t left_ms = deadline_ns > now ? (deadline_ns - now + 999999) / 1000000 : 0;

    return left_ms < LOOK_MS ? (int)left_ms : LOOK_MS;
}

/* True if a look neither connects nor decompresses. */
static bool is_quick(const struct stream *self, const struct leat_stream *stream) {
    return leat_stream_is_connected(stream) && !self->is_copy;
}

/* Without the GIL: looks, unless that was done, and waits. */
static void wait_for(struct pull *ret, bool has_looked, bool may_wait, uint64_t deadline_ns) {
    if (!has_looked)
        pull(ret, 0);
    if (ret->r == -EAGAIN && may_wait)
        pull(ret, piece_ms(deadline_ns));
}

/* Before the link is left: an end of an epoch is told to one. */
static void count_end(struct stream *self, struct pull *pull) {
    if (pull->r > 0) {
        atomic_fetch_add(&self->n_ends, 1);
        pull->has_n_steps = leat_stream_n_steps(self->link->stream, &pull->n_steps) == 0;
    }
    leat_py_link_leave(self->link);
}

/* One look for a batch, and one wait if there is none; none at all for who is still in an epoch
 * whose end another thread was told. 0 or -1 with an exception. */
static int look(struct stream *self, struct pull *ret, uint64_t deadline_ns, bool may_wait,
                uint64_t n_ends) {
    struct leat_py_link *link = self->link;
    PyThreadState *thread;
    bool has_looked;

    if (leat_py_link_enter(link, true) < 0)
        return -1;
    *ret = (struct pull){.stream = link->stream};
    if (n_ends != ANY_EPOCH && atomic_load(&self->n_ends) != n_ends) {
        ret->r = LEAT_END_EPOCH;
        leat_py_link_leave(link);
        return 0;
    }
    has_looked = is_quick(self, link->stream);
    if (has_looked)
        pull(ret, 0);
    if (!has_looked || (ret->r == -EAGAIN && may_wait)) {
        thread = PyEval_SaveThread();
        wait_for(ret, has_looked, may_wait, deadline_ns);
        if (!is_other(self, link->stream)) {
            count_end(self, ret);
            PyEval_RestoreThread(thread);
            return 0;
        }
        PyEval_RestoreThread(thread);
    }
    describe_again(self, link->stream);
    count_end(self, ret);
    return 0;
}

static PyObject *all_held(const struct stream *self) {
    const struct leat_py_link *link = self->link;
    unsigned n_held = atomic_load(&link->n_leased);
    unsigned n_lingering = atomic_load(&link->n_lingering);

    if (n_lingering == 0)
        return leat_py_raise_text(-ENOBUFS,
                                  "all %u batches of the window are held: release() them, make "
                                  "copies (to(..) does), or open the stream with a larger window",
                                  n_held);
    return leat_py_raise_text(
        -ENOBUFS,
        "all %u batches of the window are held, and %u of them were released but arrays still "
        "look into them: let go of these arrays, or make copies (to(..) does), or open the stream "
        "with a larger window",
        n_held, n_lingering);
}

static PyObject *failed(const struct stream *self, struct pull *take_pull) {
    return take_pull->r == -ENOBUFS ? all_held(self) : leat_py_raise_run(take_pull->error);
}

static PyObject *too_late(double timeout) {
    if (timeout > 0)
        return leat_py_raise_text(-ETIMEDOUT, "no batch came within %g s", timeout);
    return leat_py_raise_text(-EAGAIN, "no batch is there yet");
}

/* Batches in dead cycles, as tracebacks make them, hold slots until they are collected: now, also
 * where that is off. Whether this was the first time. */
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

static PyObject *take(struct stream *self, struct leat_py_lease *take_lease,
                      const struct pull *pull) {
    leat_py_lease_begin(take_lease, self->link, pull->batch);
    self->n_batches++;
    return leat_py_batch_new(self->batch_type, take_lease, self->names);
}

/* Raises what `reconnect` or a warning raised, and returns -1. 0: they raised nothing. */
static int tell_raised(struct stream *self) {
    PyObject *raised = self->link->raised;

    if (!raised)
        return 0;
    self->link->raised = NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_DECREF(raised);
    return -1;
}

static PyObject *tell_end(struct stream *self, const struct pull *pull) {
    if (pull->has_n_steps)
        put(&self->n_steps, PyLong_FromUnsignedLongLong(pull->n_steps));
    return PyErr_Occurred() ? NULL : PyLong_FromLong(pull->r);
}

/* timeout in seconds; < 0: none. */
static PyObject *next(struct stream *self, double timeout, uint64_t n_ends,
                      struct leat_py_lease *take_lease) {
    uint64_t deadline_ns = UINT64_MAX;
    bool has_collected = false;
    struct pull pull;

    if (timeout >= 0)
        deadline_ns = now_ns() + (uint64_t)(timeout * 1e9);
    for (;;) {
        if (look(self, &pull, deadline_ns, timeout != 0, n_ends) < 0)
            break;
        if (pull.r == 0)
            return take(self, take_lease, &pull);
        if (pull.r == -EAGAIN && tell_raised(self) < 0)
            break;
        if (pull.r == -ENOBUFS && collect_once(&has_collected))
            continue;
        if (pull.r == -EAGAIN && PyErr_CheckSignals() < 0)
            break;
        if (pull.r == -EAGAIN && (deadline_ns == UINT64_MAX || now_ns() < deadline_ns))
            continue;
        free(take_lease);
        if (pull.r > 0)
            return tell_end(self, &pull);
        return pull.r == -EAGAIN ? too_late(timeout) : failed(self, &pull);
    }
    free(take_lease);
    return NULL;
}

/* None: without limit. 0 or -1 with an exception. */
static int read_timeout(PyObject *timeout, double *ret) {
    *ret = -1;
    if (!timeout || timeout == Py_None)
        return 0;
    *ret = PyFloat_AsDouble(timeout);
    if (*ret == -1 && PyErr_Occurred())
        return -1;
    if (*ret >= 0 && *ret <= 1e9)
        return 0;
    leat_py_raise_text(-EINVAL, "timeout is %g s, outside 0..1e9; None: without limit", *ret);
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
    if (tell_raised(self) < 0) /* of a call that had a batch to give */
        return NULL;
    lease = leat_py_lease_new();
    if (!lease)
        return NULL;
    start_ns = now_ns();
    result = next(self, seconds, n_ends, lease);
    self->waited_ns += now_ns() - start_ns;
    return result;
}

/* ---- the rest ---- */

/* 0 or -1 with an exception: "K" alone would wrap what is outside. */
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

/* Leaves the link behind a call that returned r. is_end: who waits for a batch of the epoch before
 * gets none of where the stream is now. */
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

/* Calls `go` with the stream while the link is held. */
static PyObject *move(PyObject *object, int (*go)(struct leat_stream *), bool is_end) {
    struct stream *self = (struct stream *)object;

    if (leat_py_link_enter(self->link, false) < 0)
        return NULL;
    return leave_moved(self, go(self->link->stream), is_end);
}

static PyObject *stream_pause(PyObject *object, PyObject *args) {
    (void)args;
    return move(object, leat_stream_pause, false);
}

static PyObject *stream_skip_epoch(PyObject *object, PyObject *args) {
    (void)args;
    return move(object, leat_stream_skip_epoch, true);
}

static PyObject *stream_fileno(PyObject *object, PyObject *args) {
    struct leat_py_link *link = ((struct stream *)object)->link;
    int fd;

    (void)args;
    if (leat_py_link_enter(link, false) < 0)
        return NULL;
    fd = leat_stream_fd(link->stream);
    leat_py_link_leave(link);
    if (fd < 0)
        return leat_py_raise_text(fd, "the stream's descriptor: %s", strerror(-fd));
    return PyLong_FromLong(fd);
}

/* Where it stood can still be asked for. */
static int keep_position(struct stream *self) {
    if (self->last_position || !self->link->stream)
        return 0;
    if (leat_py_link_enter(self->link, false) < 0) {
        if (self->link->stream)
            return -1;
        PyErr_Clear(); /* another thread closed it meanwhile */
        return 0;
    }
    if (!self->last_position) { /* so it may have been, up to here */
        self->last_position = PyUnicode_FromString(leat_stream_position(self->link->stream));
        self->last_numbers = numbers_of(self->link->stream);
    }
    leat_py_link_leave(self->link);
    return self->last_position && self->last_numbers ? 0 : -1;
}

static PyObject *stream_close(PyObject *object, PyObject *args) {
    struct stream *self = (struct stream *)object;

    (void)args;
    if (self->link->pid == getpid() && keep_position(self) < 0)
        return NULL;
    if (leat_py_link_close(self->link) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_n_held(PyObject *object, void *closure) {
    (void)closure;
    return PyLong_FromUnsignedLong(atomic_load(&((struct stream *)object)->link->n_leased));
}

static PyObject *stream_is_closed(PyObject *object, void *closure) {
    (void)closure;
    return PyBool_FromLong(((struct stream *)object)->link->stream == NULL);
}

/* `reconnect` may lead back here: only with it can there be a cycle. */
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
    PyObject *members[] = {
        self->batch_type,  self->names,         self->name,         self->tensors,
        self->batch_size,  self->window,        self->rank,         self->world_size,
        self->rank_source, self->digest,        self->n_steps,      self->steps_reason,
        self->left_out,    self->last_position, self->last_numbers, self->link->reconnect,
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
    {"next", (PyCFunction)(void (*)(void))stream_next, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("next($self, timeout=None, n_ends=2**64 - 1)\n--\n\n"
               "The next batch, or END_EPOCH, or END. timeout in seconds; None: without limit;\n"
               "0: TimedOutError at once. A signal whose handler raises ends the waiting.\n"
               "END_EPOCH too if `n_ends` is another by now than this.")},
    {"seek", (PyCFunction)(void (*)(void))stream_seek, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("seek($self, epoch, step=0)\n--\n\n"
               "The next batch is the first one of this rank at or after that step, which is\n"
               "counted over all ranks. Who waits for a batch is told END_EPOCH.")},
    {"pause", stream_pause, METH_NOARGS,
     PyDoc_STR("pause($self)\n--\n\n"
               "Gives the session up. next() opens another one, in the same place.")},
    {"skip_epoch", stream_skip_epoch, METH_NOARGS,
     PyDoc_STR("skip_epoch($self)\n--\n\n"
               "Gives up what is left of the epoch: the next batch is the first of the next one.\n"
               "Who waits for a batch is told END_EPOCH.")},
    {"fileno", stream_fileno, METH_NOARGS,
     PyDoc_STR("fileno($self)\n--\n\nReadable when next(0) would get further.")},
    {"close", stream_close, METH_NOARGS,
     PyDoc_STR("close($self)\n--\n\nEnds the session. Batches that are held stay readable.")},
    {NULL, NULL, 0, NULL},
};

#define MEMBER(name, text)                                                                         \
    { #name, T_OBJECT_EX, offsetof(struct stream, name), READONLY, PyDoc_STR(text) }

static PyMemberDef members[] = {
    MEMBER(name, "Of the stream."),
    MEMBER(tensors, "(name, dtype, shape) of each tensor; -1 in a shape varies."),
    MEMBER(batch_size, "Rows of a whole batch."),
    MEMBER(window, "Batches that may be held at once."),
    MEMBER(rank, "Its steps are those congruent to rank modulo world_size."),
    MEMBER(world_size, "Number of ranks."),
    MEMBER(rank_source, "Who said so; \"\": nobody."),
    MEMBER(digest, "32 bytes, of the bound spec."),
    MEMBER(n_steps, "Of an epoch, over all ranks; None: not known, at least until one has ended."),
    MEMBER(steps_reason, "Why it is not known."),
    MEMBER(left_out, "Fields of the data that are not read, and why."),
    {"waited_ns", T_ULONGLONG, offsetof(struct stream, waited_ns), READONLY,
     PyDoc_STR("Spent in next() since the opening.")},
    {"n_batches", T_ULONGLONG, offsetof(struct stream, n_batches), READONLY,
     PyDoc_STR("That next() returned.")},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"position", stream_position, NULL, PyDoc_STR("Where to go on, for a checkpoint."), NULL},
    {"position_numbers", stream_position_numbers, NULL,
     PyDoc_STR("(epoch, step) of what this rank sees next."), NULL},
    {"n_ends", stream_n_ends, NULL, PyDoc_STR("Ends of epochs that next() told."), NULL},
    {"n_held", stream_n_held, NULL, PyDoc_STR("Batches that are held, by arrays too."), NULL},
    {"is_closed", stream_is_closed, NULL, PyDoc_STR("Whether close() was called."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "An open stream; Client opens it."},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_traverse, stream_traverse},
    {Py_tp_clear, stream_clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "leat._leat.Stream",
    .basicsize = sizeof(struct stream),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int leat_py_stream_register(PyObject *module) {
    stream_type = leat_py_type_add(module, &spec);
    return stream_type ? 0 : -1;
}
