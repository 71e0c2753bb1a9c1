/* batch.c: `_leat.Batch`: a mapping of names to tensors, over a lease. */
#include <Python.h>
#include <errno.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/raise.h"
#include "client/python/src/stream/link.h"
#include "client/python/src/types.h"

struct batch {
    PyObject_HEAD struct leat_py_lease *lease;
    PyObject *names; /* of the stream's tensors: a tuple */
    unsigned long long epoch, step;
    unsigned int n_rows;
};

static PyTypeObject *batch_type;

PyObject *leat_py_batch_type(PyObject *type) {
    if (!type || type == Py_None)
        return (PyObject *)batch_type;
    if (PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, batch_type))
        return type;
    PyErr_SetString(PyExc_TypeError, "batch_type must be a subclass of leat._leat.Batch");
    return NULL;
}

PyObject *leat_py_batch_new(PyObject *type, struct leat_py_lease *take_lease, PyObject *names) {
    struct batch *self = (struct batch *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    const struct leat_batch *batch = take_lease->batch;

    if (!self) {
        leat_py_lease_disown(take_lease);
        return NULL;
    }
    self->lease = take_lease;
    self->names = Py_NewRef(names);
    self->epoch = leat_batch_epoch(batch);
    self->step = leat_batch_step(batch);
    self->n_rows = leat_batch_n_rows(batch);
    return (PyObject *)self;
}

static void batch_dealloc(PyObject *object) {
    struct batch *self = (struct batch *)object;

    if (self->lease)
        leat_py_lease_disown(self->lease);
    Py_XDECREF(self->names);
    leat_py_object_free(object);
}

/* ---- a mapping ---- */

/* Makes the tensor of that name, which the stream has at `index`. */
static PyObject *tensor_of(const struct batch *self, PyObject *name, Py_ssize_t index) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const struct leat_tensor *tensor = leat_batch_tensor(self->lease->batch, (size_t)index);

    if (!text)
        return NULL;
    if (!tensor || strcmp(tensor->name, text) != 0)
        tensor = leat_batch_find(self->lease->batch, text);
    if (!tensor) {
        PyErr_Format(PyExc_KeyError, "the batch of epoch %llu, step %llu has no tensor \"%U\"",
                     self->epoch, self->step, name);
        return NULL;
    }
    return leat_py_tensor_new(self->lease, tensor, name);
}

/* Returns -1, without an exception, if there is none. */
static Py_ssize_t index_of(const struct batch *self, PyObject *key) {
    Py_ssize_t n = PyTuple_Size(self->names);

    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GetItem(self->names, i) == key)
            return i;
    for (Py_ssize_t i = 0; PyUnicode_Check(key) && i < n; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(self->names, i), key) == 0)
            return i;
    return -1;
}

static int check_open(const struct batch *self) {
    if (!self->lease->is_ended)
        return 0;
    PyErr_SetString(PyExc_ValueError, "you have already released this batch");
    return -1;
}

struct leat_py_lease *leat_py_batch_lease(PyObject *object) {
    struct batch *self = (struct batch *)object;

    if (!PyObject_TypeCheck(object, batch_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a leat.Batch");
        return NULL;
    }
    if (check_open(self) < 0)
        return NULL;
    if (self->lease->link->pid == getpid())
        return self->lease;
    leat_py_raise_text(
        -EPERM,
        "this batch belongs to process %d, which called fork(): a child process cannot read it",
        (int)self->lease->link->pid);
    return NULL;
}

static PyObject *no_such(const struct batch *self, PyObject *key) {
    PyErr_Format(PyExc_KeyError, "the batch has no tensor %R; it has %R", key, self->names);
    return NULL;
}

static PyObject *batch_subscript(PyObject *object, PyObject *key) {
    struct batch *self = (struct batch *)object;
    Py_ssize_t i = index_of(self, key);

    if (i < 0)
        return no_such(self, key);
    if (check_open(self) < 0)
        return NULL;
    return tensor_of(self, PyTuple_GetItem(self->names, i), i);
}

static Py_ssize_t batch_length(PyObject *object) {
    return PyTuple_Size(((struct batch *)object)->names);
}

static int batch_contains(PyObject *object, PyObject *key) {
    return index_of((struct batch *)object, key) >= 0;
}

static PyObject *batch_iter(PyObject *object) {
    return PyObject_GetIter(((struct batch *)object)->names);
}

static PyObject *batch_keys(PyObject *object, PyObject *args) {
    return Py_NewRef(((struct batch *)object)->names);
}

/* Makes a tuple of the tensors, or of pairs of name and tensor. */
static PyObject *list_tensors(struct batch *self, bool in_pairs) {
    Py_ssize_t n = PyTuple_Size(self->names);
    PyObject *tuple = check_open(self) < 0 ? NULL : PyTuple_New(n);

    for (Py_ssize_t i = 0; tuple && i < n; i++) {
        PyObject *name = PyTuple_GetItem(self->names, i);
        PyObject *item = tensor_of(self, name, i);

        if (item && in_pairs)
            item = Py_BuildValue("ON", name, item);
        if (!item) {
            Py_DECREF(tuple);
            return NULL;
        }
        (void)PyTuple_SetItem(tuple, i, item);
    }
    return tuple;
}

static PyObject *batch_values(PyObject *object, PyObject *args) {
    return list_tensors((struct batch *)object, false);
}

static PyObject *batch_items(PyObject *object, PyObject *args) {
    return list_tensors((struct batch *)object, true);
}

static PyObject *batch_get(PyObject *object, PyObject *args) {
    struct batch *self = (struct batch *)object;
    PyObject *key, *standard = Py_None;

    if (!PyArg_ParseTuple(args, "O|O", &key, &standard))
        return NULL;
    if (index_of(self, key) < 0)
        return Py_NewRef(standard);
    return batch_subscript(object, key);
}

/* ---- its slot ---- */

static PyObject *batch_release(PyObject *object, PyObject *args) {
    return PyBool_FromLong(leat_py_lease_end(((struct batch *)object)->lease));
}

static PyObject *batch_enter(PyObject *object, PyObject *args) {
    return check_open((struct batch *)object) < 0 ? NULL : Py_NewRef(object);
}

static PyObject *batch_exit(PyObject *object, PyObject *args) {
    (void)leat_py_lease_end(((struct batch *)object)->lease);
    Py_RETURN_NONE;
}

static PyObject *batch_ring(PyObject *object, PyObject *args) {
    struct batch *self = (struct batch *)object;
    const struct leat_ring *ring;

    if (check_open(self) < 0)
        return NULL;
    ring = leat_batch_ring(self->lease->batch);
    if (!ring) {
        PyErr_SetString(PyExc_ValueError, "with delivery \"copy\" there is no shared memory ring: "
                                          "the batch is in the memory of this process");
        return NULL;
    }
    return Py_BuildValue("NKK", PyLong_FromVoidPtr((void *)(uintptr_t)ring->shared),
                         (unsigned long long)ring->size_bytes, (unsigned long long)ring->number);
}

static PyObject *batch_is_released(PyObject *object, void *closure) {
    return PyBool_FromLong(((struct batch *)object)->lease->is_ended);
}

static PyObject *batch_stream(PyObject *object, void *closure) {
    PyObject *stream = ((struct batch *)object)->lease->link->owner;

    return Py_NewRef(stream ? stream : Py_None);
}

static PyObject *batch_repr(PyObject *object) {
    struct batch *self = (struct batch *)object;

    return PyUnicode_FromFormat("<leat.Batch of epoch %llu, step %llu: %u rows of %R%s>",
                                self->epoch, self->step, self->n_rows, self->names,
                                self->lease->is_ended ? ", released" : "");
}

static PyMethodDef methods[] = {
    {"keys", batch_keys, METH_NOARGS,
     PyDoc_STR("keys($self)\n"
               "--\n"
               "\n"
               "Returns the names of the tensors.")},
    {"values", batch_values, METH_NOARGS,
     PyDoc_STR("values($self)\n"
               "--\n"
               "\n"
               "Returns the tensors.")},
    {"items", batch_items, METH_NOARGS,
     PyDoc_STR("items($self)\n"
               "--\n"
               "\n"
               "Returns pairs of a name and a tensor.")},
    {"get", batch_get, METH_VARARGS,
     PyDoc_STR("get($self, name, default=None, /)\n"
               "--\n"
               "\n"
               "Returns the tensor with this name. If there is none, it returns `default`.")},
    {"release", batch_release, METH_NOARGS,
     PyDoc_STR("release($self)\n"
               "--\n"
               "\n"
               "Gives the batch's slot back to the daemon. You cannot read the batch after that. "
               "Returns\n"
               "True if the slot goes back at once. Returns False if arrays still view the slot: "
               "it then goes\n"
               "back when Python has freed the last of these arrays.")},
    {"ring", batch_ring, METH_NOARGS,
     PyDoc_STR(
         "ring($self)\n--\n\nReturns (address, size in bytes, number) of the shared memory ring "
         "that contains the batch. The ring is\nread-only. Use its address and size to register it "
         "with a device.")},
    {"__enter__", batch_enter, METH_NOARGS, NULL},
    {"__exit__", batch_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"epoch", T_ULONGLONG, offsetof(struct batch, epoch), READONLY,
     PyDoc_STR("Number of the epoch, from 0.")},
    {"step", T_ULONGLONG, offsetof(struct batch, step), READONLY,
     PyDoc_STR("Number of the step in its epoch, counted over all ranks, from 0.")},
    {"n_rows", T_UINT, offsetof(struct batch, n_rows), READONLY, PyDoc_STR("Number of rows.")},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"is_released", batch_is_released, NULL, PyDoc_STR("True after release()."), NULL},
    {"stream", batch_stream, NULL,
     PyDoc_STR("The native stream of the batch; None if it no longer exists."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A mapping of names to tensors, in the order of the stream. It "
                                    "occupies a slot of shared\n"
                                    "memory until you have released the batch and no array views "
                                    "it."},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_repr, batch_repr},
    {Py_tp_iter, batch_iter},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {Py_mp_subscript, batch_subscript},
    {Py_mp_length, batch_length},
    {Py_sq_contains, batch_contains},
    {0, NULL},
};

int leat_py_batch_register(PyObject *module) {
    batch_type = leat_py_type_add(module, "leat._leat.Batch", sizeof(struct batch),
                                  Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return batch_type ? 0 : -1;
}

/* ---- saving ----
 *
 * `_leat.save_batch` is libleat's leat_batch_save(), without the GIL. The slot is held meanwhile,
 * since another thread may release the batch. libleat keeps one error for each batch, so threads
 * save the same batch in turn. Errors of the file system become OSErrors. */

static PyObject *raise_failure(int r, struct leat_error *take_error, PyObject *path) {
    if (r == -EINVAL || r == -EILSEQ || r == -E2BIG || r == -ENOMEM) /* the batch or an argument */
        return leat_py_raise_copy(take_error);
    leat_error_free(take_error);
    errno = -r;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static int save(struct leat_py_lease *lease, const char *path,
                const struct leat_save_options *options, struct leat_error **ret_error) {
    int r;

    leat_py_lease_hold(lease);
    Py_BEGIN_ALLOW_THREADS;
    (void)pthread_mutex_lock(&lease->saving);
    r = leat_batch_save(lease->batch, path, options);
    if (r < 0 && r != -ENOMEM) /* which leaves no error */
        *ret_error = leat_error_copy(leat_batch_error(lease->batch));
    (void)pthread_mutex_unlock(&lease->saving);
    leat_py_lease_unhold(lease);
    Py_END_ALLOW_THREADS;
    return r;
}

static PyObject *save_batch(PyObject *module, PyObject *args) {
    struct leat_save_options options;
    struct leat_error *error = NULL;
    struct leat_py_lease *lease;
    PyObject *batch, *path, *bytes = NULL;
    int r;

    leat_save_options_init(&options);
    if (!PyArg_ParseTuple(args, "OOii", &batch, &path, &options.format, &options.compression))
        return NULL;
    lease = leat_py_batch_lease(batch);
    if (!lease || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    r = save(lease, PyBytes_AsString(bytes), &options, &error);
    Py_DECREF(bytes);
    if (r < 0)
        return raise_failure(r, error, path);
    Py_RETURN_NONE;
}

static PyMethodDef save_methods[] = {
    {"save_batch", save_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int leat_py_save_register(PyObject *module) {
    if (PyModule_AddFunctions(module, save_methods) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_BY_NAME", LEAT_SAVE_BY_NAME) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_SAFETENSORS", LEAT_SAVE_SAFETENSORS) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_NPZ", LEAT_SAVE_NPZ) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SAVE_JSONL", LEAT_SAVE_JSONL);
}
