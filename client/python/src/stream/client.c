/* client.c: `_leat.Client`, the address of a daemon. libleat's client keeps the last failure, so
 * each opening makes one of its own, and threads may share a Client.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/python/src/cuda/rings.h"
#include "client/python/src/raise.h"
#include "client/python/src/stream/link.h"
#include "client/python/src/stream/options.h"
#include "client/python/src/stream/spec.h"
#include "client/python/src/types.h"

struct client {
    PyObject_HEAD char *address; /* NULL: as libleat searches */
};

static PyObject *client_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"address", NULL};
    const char *address = NULL;
    struct client *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z", names, &address))
        return NULL;
    self = (struct client *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->address = address ? strdup(address) : NULL;
    if (address && !self->address) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void client_dealloc(PyObject *object) {
    free(((struct client *)object)->address);
    leat_py_object_free(object);
}

/* ---- reconnecting ---- */

static const char *kind_name(int32_t kind) {
    switch (kind) {
    case LEAT_RECONNECT_LOST:
        return "lost";
    case LEAT_RECONNECT_TRYING:
        return "trying";
    default:
        return "back";
    }
}

/* Names the trainer's line: two functions of the package call next(). */
#define NOTICE_LEVEL 3

/* Keeps the current exception for the stream's next(), which raises it. A second one is reported
 * as unraisable, as raised by `callable`. */
static void keep_raised(struct leat_py_link *link, PyObject *callable) {
    PyObject *type, *value, *trace;

    if (link->raised) {
        PyErr_WriteUnraisable(callable);
        return;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        (void)PyException_SetTraceback(value, trace);
    link->raised = value;
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

/* Called by leat_stream_next(), with or without the GIL. */
static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct leat_py_link *link = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *callable = Py_XNewRef(link->reconnect);
    PyObject *result = NULL;

    if (callable)
        result = PyObject_CallFunction(callable, "sIds", kind_name(event->kind), event->attempt,
                                       (double)event->waited_ns / 1e9, event->reason);
    /* KeyboardInterrupt and SystemExit are meant for the program */
    if (callable && !result && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_WriteUnraisable(callable);
    else if (callable && !result)
        keep_raised(link, callable);
    Py_XDECREF(result);
    Py_XDECREF(callable);
    PyGILState_Release(gil);
}

/* A filter may turn the warning into an error, which next() then raises. */
static void on_notice(void *user, const char *text) {
    struct leat_py_link *link = user;
    PyGILState_STATE gil = PyGILState_Ensure();

    if (PyErr_WarnEx(PyExc_RuntimeWarning, text, NOTICE_LEVEL) < 0)
        keep_raised(link, NULL);
    PyGILState_Release(gil);
}

/* ---- opening ---- */

struct opening {
    const char *address;
    const char *name;                   /* of a declared stream; else */
    const struct leat_builder *builder; /* describes the stream */
    struct leat_open_options options;
    struct leat_stream *stream;
    bool is_address_wrong;
    struct leat_error *error; /* of any other failure; NULL: no memory */
};

/* Without the GIL. */
static int open_once(struct opening *opening) {
    struct leat_client *client = NULL;
    int r = leat_client_new(opening->address, &client);

    opening->is_address_wrong = r == -EINVAL;
    if (r < 0)
        return r;
    if (opening->builder)
        r = leat_client_open_built(client, opening->builder, &opening->options, &opening->stream);
    else
        r = leat_client_open(client, opening->name, &opening->options, &opening->stream);
    if (r < 0)
        opening->error = leat_error_copy(leat_client_error(client));
    leat_client_free(client);
    return r;
}

/* Called without the GIL. An exception of a signal handler stays set in this thread. */
static int on_interrupt(void *user) {
    PyGILState_STATE gil = PyGILState_Ensure();
    int r = PyErr_CheckSignals();

    PyGILState_Release(gil);
    return r;
}

static int open_stream(struct opening *opening) {
    PyThreadState *thread = PyEval_SaveThread();
    int r;

    opening->options.on_interrupt = on_interrupt;
    r = open_once(opening);
    PyEval_RestoreThread(thread);
    if (PyErr_Occurred())
        leat_error_free(opening->error);
    else if (opening->is_address_wrong)
        leat_py_raise_text(r, "cannot use this address of a daemon: %s", strerror(-r));
    else if (r < 0)
        leat_py_raise_copy(opening->error);
    return r < 0 ? -1 : 0;
}

static PyObject *open_link(struct opening *opening, PyObject *reconnect, PyObject *batch_type) {
    struct leat_py_link *link = leat_py_link_new();

    if (!link)
        return PyErr_NoMemory();
    if (opening->options.delivery == LEAT_DELIVERY_COPY)
        opening->options.private_writes = false;
    opening->options.on_unmap = leat_cuda_rings_forget;
    opening->options.on_reconnect = reconnect ? on_reconnect : NULL;
    opening->options.on_reconnect_user = link;
    opening->options.on_notice = on_notice;
    opening->options.on_notice_user = link;
    if (open_stream(opening) < 0) {
        leat_py_link_unref(link);
        return NULL;
    }
    link->reconnect = Py_XNewRef(reconnect);
    return leat_py_stream_new(link, opening->stream,
                              opening->options.delivery == LEAT_DELIVERY_COPY, batch_type);
}

static PyObject *client_open(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "options", "batch_type", NULL};
    struct opening opening = {.address = ((struct client *)object)->address};
    PyObject *options = NULL, *type = NULL, *reconnect;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|OO", names, &opening.name, &options, &type))
        return NULL;
    type = leat_py_batch_type(type);
    if (!type || leat_py_options_read(options, &opening.options, &reconnect) < 0)
        return NULL;
    return open_link(&opening, reconnect, type);
}

static PyObject *client_open_built(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"spec", "options", "batch_type", NULL};
    struct opening opening = {.address = ((struct client *)object)->address};
    PyObject *spec, *options = NULL, *type = NULL, *reconnect, *stream;
    struct leat_builder *builder = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &spec, &options, &type))
        return NULL;
    type = leat_py_batch_type(type);
    if (!type || leat_py_options_read(options, &opening.options, &reconnect) < 0 ||
        leat_py_spec_build(spec, &builder) < 0)
        return NULL;
    opening.builder = builder;
    stream = open_link(&opening, reconnect, type);
    leat_builder_free(builder);
    return stream;
}

static PyMethodDef methods[] = {
    {"open", LEAT_PY_KEYWORDS(client_open), NULL},
    {"open_built", LEAT_PY_KEYWORDS(client_open_built), NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, client_new},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

int leat_py_client_register(PyObject *module) {
    return leat_py_type_add(module, "leat._leat.Client", sizeof(struct client), 0, slots) ? 0 : -1;
}
