/* client.c: `_leat.Client`: where the daemon is. libleat's client keeps the last failure, so each
 * opening has one of its own, and threads may share a Client.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/python/src/options.h"
#include "client/python/src/raise.h"
#include "client/python/src/ring.h"
#include "client/python/src/spec.h"
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

/* The trainer's own line: next() of the extension is called within two functions of the package. */
#define NOTICE_LEVEL 3

static void keep(struct leat_py_link *link) {
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        (void)PyException_SetTraceback(value, trace);
    link->raised = value;
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

/* Keeps what the call raised. KeyboardInterrupt, SystemExit and their like are not its own failure
 * but meant for the program: the stream's next() tells of them. */
static void keep_raised(struct leat_py_link *link, PyObject *callable) {
    if (PyErr_ExceptionMatches(PyExc_Exception) || link->raised)
        PyErr_WriteUnraisable(callable);
    else
        keep(link);
}

/* From within leat_stream_next(), with or without the GIL. */
static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct leat_py_link *link = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *callable = Py_XNewRef(link->reconnect);
    PyObject *result = NULL;

    if (callable)
        result = PyObject_CallFunction(callable, "sIds", kind_name(event->kind), event->attempt,
                                       (double)event->waited_ns / 1e9, event->reason);
    if (callable && !result)
        keep_raised(link, callable);
    Py_XDECREF(result);
    Py_XDECREF(callable);
    PyGILState_Release(gil);
}

/* A warning that a filter makes an error is raised where next() waits. */
static void on_notice(void *user, const char *text) {
    struct leat_py_link *link = user;
    PyGILState_STATE gil = PyGILState_Ensure();

    if (PyErr_WarnEx(PyExc_RuntimeWarning, text, NOTICE_LEVEL) < 0) {
        if (link->raised)
            PyErr_WriteUnraisable(NULL);
        else
            keep(link);
    }
    PyGILState_Release(gil);
}

/* ---- opening ---- */

struct opening {
    const char *address;
    const char *name; /* or */
    const struct leat_builder *builder;
    struct leat_open_options options;
    struct leat_stream *stream;
    bool is_address_wrong;
    struct leat_error *error; /* of another failure; NULL: no memory */
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

/* Without the GIL, for a moment with it. A handler's exception stays this thread's. */
static int on_interrupt(void *user) {
    PyGILState_STATE gil = PyGILState_Ensure();
    int r = PyErr_CheckSignals();

    (void)user;
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
        leat_py_raise_text(r, "the daemon's address: %s", strerror(-r));
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
    opening->options.on_unmap = leat_py_ring_unmapped;
    opening->options.on_reconnect = reconnect ? on_reconnect : NULL;
    opening->options.on_reconnect_user = link;
    opening->options.on_notice = on_notice;
    opening->options.on_notice_user = link;
    if (open_stream(opening) < 0) {
        leat_py_link_unref(link);
        return NULL;
    }
    Py_XINCREF(reconnect);
    link->reconnect = reconnect;
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
    {"open", (PyCFunction)(void (*)(void))client_open, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR(
         "open($self, name, options=None, batch_type=None)\n--\n\n"
         "Opens a stream that the operator declared. options: the members of struct\n"
         "leat_open_options by name, and reconnect: callable(kind, attempt, waited_s, reason).\n"
         "Batches are made as batch_type, a class of Batch. Blocks up to open_timeout_ms.")},
    {"open_built", (PyCFunction)(void (*)(void))client_open_built, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("open_built($self, spec, options=None, batch_type=None)\n--\n\n"
               "The same for a stream built in code: {\"name\": str, \"source\": [kind, {..}],\n"
               "\"stages\": [[kind, {..}], ..], \"options\": {..}}.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     (void *)(uintptr_t) "Client(address=None)\n--\n\n"
                         "Where the daemon is: its socket directory, or a socket in it;\n"
                         "None: as libleat searches. Does not connect."},
    {Py_tp_new, client_new},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "leat._leat.Client",
    .basicsize = sizeof(struct client),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int leat_py_client_register(PyObject *module) {
    return leat_py_type_add(module, &spec) ? 0 : -1;
}
