/* copy.c: `_leat.CudaCopy`: tensors on their way to a GPU.
 *
 * Leases hold the slots, not Python's objects, until the event behind the last piece has come. So
 * nothing is overwritten under the copy, whatever the caller drops or releases meanwhile. The call
 * that sees the event returns the slots, or the end of this object, which waits for it. */
#include <Python.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/batch/tensor.h"
#include "client/python/src/cuda/device.h"
#include "client/python/src/cuda/rings.h"
#include "client/python/src/types.h"

struct piece {
    struct leat_py_lease *lease;
    const void *from;
    size_t n_bytes;
    leat_cuda_address to;
};

struct copy {
    PyObject_HEAD struct leat_cuda_device *device;
    void *event; /* NULL: none was recorded */
    bool is_registered;
    Py_ssize_t n_pieces; /* their leases are held */
    struct piece *pieces;
};

static PyTypeObject *copy_type;

static void let_go(struct copy *self) {
    for (Py_ssize_t i = 0; i < self->n_pieces; i++)
        leat_py_lease_unhold(self->pieces[i].lease);
    self->n_pieces = 0;
    PyMem_Free(self->pieces);
    self->pieces = NULL;
}

/* ---- pieces ---- */

static int read_piece(PyObject *pair, struct piece *ret_piece) {
    PyObject *address = NULL;
    struct leat_py_tensor *tensor = NULL;

    if (!PyArg_ParseTuple(pair, "O!O", leat_py_tensor_type, &tensor, &address) ||
        leat_py_tensor_check(tensor) < 0)
        return -1;
    ret_piece->to = PyLong_AsUnsignedLongLong(address);
    if (PyErr_Occurred())
        return -1;
    ret_piece->from = tensor->shared;
    ret_piece->n_bytes = (size_t)tensor->n_bytes;
    ret_piece->lease = tensor->lease;
    leat_py_lease_hold(tensor->lease);
    return 0;
}

static int read_pieces(struct copy *self, PyObject *pairs) {
    Py_ssize_t n = PySequence_Size(pairs);

    if (n < 0)
        return -1;
    self->pieces = PyMem_Calloc((size_t)n, sizeof(self->pieces[0]));
    if (!self->pieces) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PySequence_GetItem(pairs, i);
        int r = -1;

        if (pair && !PyTuple_Check(pair))
            PyErr_SetString(PyExc_TypeError, "each item must be a pair (Tensor, device address)");
        else if (pair)
            r = read_piece(pair, &self->pieces[i]);
        Py_XDECREF(pair);
        if (r < 0)
            return -1;
        self->n_pieces = i + 1;
    }
    return 0;
}

/* ---- without the GIL ---- */

static void register_ring(struct copy *self, const struct piece *piece) {
    const struct leat_ring *ring = leat_batch_ring(piece->lease->batch);

    self->is_registered =
        ring && self->device->can_register &&
        leat_cuda_rings_register(self->device->driver, self->device->context, ring);
}

static leat_cuda_result send(struct copy *self, const char **ret_what) {
    const struct leat_cuda_device *device = self->device;
    leat_cuda_result result =
        device->driver->event_create(&self->event, LEAT_CUDA_EVENT_DISABLE_TIMING);

    *ret_what = "cuEventCreate";
    if (result != 0) {
        self->event = NULL;
        return result;
    }
    *ret_what = "cuMemcpyHtoDAsync";
    for (Py_ssize_t i = 0; i < self->n_pieces && result == 0; i++) {
        const struct piece *piece = &self->pieces[i];

        if (i == 0 || piece->lease != self->pieces[i - 1].lease)
            register_ring(self, piece);
        if (piece->n_bytes > 0)
            result = device->driver->copy_to_device(piece->to, piece->from, piece->n_bytes,
                                                    device->stream);
    }
    if (device->driver->event_record(self->event, device->stream) == 0)
        return result;
    *ret_what = "cuEventRecord";
    return result != 0 ? result : LEAT_CUDA_NOT_READY;
}

/* Waits for the event, and returns the slots. */
static leat_cuda_result wait_for(struct copy *self) {
    const struct leat_cuda_device *device = self->device;
    leat_cuda_result result = 0;

    if (self->event && self->n_pieces > 0) {
        Py_BEGIN_ALLOW_THREADS;
        result = device->driver->push(device->context);
        if (result == 0) {
            result = device->driver->event_synchronize(self->event);
            leat_cuda_device_leave(device);
        }
        Py_END_ALLOW_THREADS;
    }
    let_go(self);
    return result;
}

/* ---- the object ---- */

static int start(struct copy *self, PyObject *pairs) {
    const char *what = "";
    leat_cuda_result result;

    if (read_pieces(self, pairs) < 0 || leat_cuda_device_enter(self->device) < 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS;
    result = send(self, &what);
    leat_cuda_device_leave(self->device);
    Py_END_ALLOW_THREADS;
    if (result == 0)
        return 0;
    (void)wait_for(self); /* some pieces may be on their way */
    return leat_cuda_check(result, what);
}

PyObject *leat_cuda_copy_start(PyObject *device, PyObject *pieces) {
    struct copy *self = (struct copy *)PyType_GenericAlloc(copy_type, 0);

    if (!self)
        return NULL;
    self->device = (struct leat_cuda_device *)Py_NewRef(device);
    if (start(self, pieces) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void destroy_event(struct copy *self) {
    const struct leat_cuda_device *device = self->device;

    if (!self->event || device->driver->push(device->context) != 0)
        return;
    (void)device->driver->event_destroy(self->event);
    leat_cuda_device_leave(device);
}

static void copy_dealloc(PyObject *object) {
    struct copy *self = (struct copy *)object;

    if (self->device && self->device->pid == getpid()) {
        (void)wait_for(self);
        destroy_event(self);
    }
    let_go(self);
    Py_XDECREF((PyObject *)self->device);
    leat_py_object_free(object);
}

static PyObject *get_is_done(PyObject *object, void *closure) {
    struct copy *self = (struct copy *)object;
    leat_cuda_result result;

    if (self->n_pieces == 0)
        Py_RETURN_TRUE;
    if (leat_cuda_device_enter(self->device) < 0)
        return NULL;
    result = self->device->driver->event_query(self->event);
    leat_cuda_device_leave(self->device);
    if (result == LEAT_CUDA_NOT_READY)
        Py_RETURN_FALSE;
    let_go(self);
    return leat_cuda_check(result, "cuEventQuery") < 0 ? NULL : Py_NewRef(Py_True);
}

static PyObject *wait_method(PyObject *object, PyObject *args) {
    struct copy *self = (struct copy *)object;
    leat_cuda_result result;

    if (leat_cuda_device_enter(self->device) < 0)
        return NULL;
    leat_cuda_device_leave(self->device);
    result = wait_for(self);
    return leat_cuda_check(result, "cuEventSynchronize") < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *precede(PyObject *object, PyObject *stream_number) {
    struct copy *self = (struct copy *)object;
    void *stream = PyLong_AsVoidPtr(stream_number);
    leat_cuda_result result;

    if (PyErr_Occurred() || leat_cuda_device_enter(self->device) < 0)
        return NULL;
    result = self->device->driver->stream_wait_event(stream, self->event, 0);
    leat_cuda_device_leave(self->device);
    return leat_cuda_check(result, "cuStreamWaitEvent") < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMemberDef copy_members[] = {
    {"is_registered", T_BOOL, offsetof(struct copy, is_registered), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef copy_getters[] = {
    {"is_done", get_is_done, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef copy_methods[] = {
    {"wait", wait_method, METH_NOARGS, NULL},
    {"precede", precede, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot copy_slots[] = {
    {Py_tp_dealloc, copy_dealloc},
    {Py_tp_members, copy_members},
    {Py_tp_getset, copy_getters},
    {Py_tp_methods, copy_methods},
    {0, NULL},
};

int leat_py_cuda_copy_register(PyObject *module) {
    copy_type = leat_py_type_add(module, "leat._leat.CudaCopy", sizeof(struct copy),
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION, copy_slots);
    return copy_type ? 0 : -1;
}
