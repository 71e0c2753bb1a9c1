/* cuda_copy.c: `_leat.CudaCopy`: tensors on their way to a GPU.
 *
 * The slots are held by leases, not by Python's objects, until the event behind the last piece has
 * come: so whatever the caller drops or releases meanwhile, nothing is overwritten under the copy.
 * Whoever asks for the event gives them back; at the latest this object's end does, which waits. */
#include <errno.h>
#include <unistd.h>

#include "client/python/src/cuda.h"
#include "client/python/src/cuda_rings.h"
#include "client/python/src/raise.h"
#include "client/python/src/tensor.h"
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
    Py_ssize_t n_pieces; /* whose leases are held */
    struct piece *pieces;
};

static PyTypeObject *copy_type, *tensor_type;

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

    if (!PyArg_ParseTuple(pair, "O!O", tensor_type, &tensor, &address) ||
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
        int r = !pair ? -1
                : PyTuple_Check(pair)
                    ? read_piece(pair, &self->pieces[i])
                    : (PyErr_SetString(PyExc_TypeError, "a piece is (Tensor, device address)"), -1);

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
    leat_cuda_result result;

    self->is_registered =
        ring && self->device->can_register &&
        leat_cuda_rings_register(self->device->driver, self->device->context,
                                 LEAT_CUDA_REGISTER_PORTABLE | LEAT_CUDA_REGISTER_READ_ONLY, ring,
                                 &result);
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

/* Until the event has come, and the slots go back. */
static leat_cuda_result wait_for(struct copy *self) {
    const struct leat_cuda_device *device = self->device;
    leat_cuda_result result = 0;

    if (self->event && self->n_pieces > 0) {
        Py_BEGIN_ALLOW_THREADS result = device->driver->push(device->context);
        if (result == 0) {
            result = device->driver->event_synchronize(self->event);
            leat_cuda_device_leave(device);
        }
        Py_END_ALLOW_THREADS
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
    Py_BEGIN_ALLOW_THREADS result = send(self, &what);
    leat_cuda_device_leave(self->device);
    Py_END_ALLOW_THREADS if (result == 0) return 0;
    (void)wait_for(self); /* some pieces may be on their way */
    leat_cuda_raise(result, what);
    return -1;
}

PyObject *leat_cuda_copy_start(PyObject *device, PyObject *pieces) {
    allocfunc alloc = (allocfunc)PyType_GetSlot(copy_type, Py_tp_alloc);
    struct copy *self = (struct copy *)alloc(copy_type, 0);

    if (!self)
        return NULL;
    Py_INCREF((PyObject *)device);
    self->device = (struct leat_cuda_device *)device;
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

    (void)closure;
    if (self->n_pieces == 0)
        Py_RETURN_TRUE;
    if (leat_cuda_device_enter(self->device) < 0)
        return NULL;
    result = self->device->driver->event_query(self->event);
    leat_cuda_device_leave(self->device);
    if (result == LEAT_CUDA_NOT_READY)
        Py_RETURN_FALSE;
    let_go(self);
    if (result != 0)
        return leat_cuda_raise(result, "cuEventQuery");
    Py_RETURN_TRUE;
}

static PyObject *get_is_registered(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((struct copy *)self)->is_registered);
}

static PyObject *wait_method(PyObject *object, PyObject *args) {
    struct copy *self = (struct copy *)object;
    leat_cuda_result result;

    (void)args;
    if (leat_cuda_device_enter(self->device) < 0)
        return NULL;
    leat_cuda_device_leave(self->device);
    result = wait_for(self);
    if (result != 0)
        return leat_cuda_raise(result, "cuEventSynchronize");
    Py_RETURN_NONE;
}

static PyObject *precede(PyObject *object, PyObject *stream_number) {
    struct copy *self = (struct copy *)object;
    void *stream = PyLong_AsVoidPtr(stream_number);
    leat_cuda_result result;

    if (PyErr_Occurred() || leat_cuda_device_enter(self->device) < 0)
        return NULL;
    result = self->device->driver->stream_wait_event(stream, self->event, 0);
    leat_cuda_device_leave(self->device);
    if (result != 0)
        return leat_cuda_raise(result, "cuStreamWaitEvent");
    Py_RETURN_NONE;
}

static PyGetSetDef copy_members[] = {
    {"is_done", get_is_done, NULL,
     PyDoc_STR("Whether it is all there. Then the slots have gone back."), NULL},
    {"is_registered", get_is_registered, NULL,
     PyDoc_STR("Whether it reads memory that is registered, and so at the bus's full speed."),
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef copy_methods[] = {
    {"wait", wait_method, METH_NOARGS, PyDoc_STR("wait()\n--\n\nUntil it is all there.")},
    {"precede", precede, METH_O,
     PyDoc_STR("precede(stream, /)\n--\n\nWhat is queued on that CUstream (a number) from now on "
               "begins after the copy. Waits for nothing itself.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot copy_slots[] = {
    {Py_tp_doc, PyDoc_STR("Tensors on their way to a device; made by CudaDevice.copy().")},
    {Py_tp_dealloc, copy_dealloc},
    {Py_tp_getset, copy_members},
    {Py_tp_methods, copy_methods},
    {0, NULL},
};

static PyType_Spec copy_spec = {
    .name = "leat._leat.CudaCopy",
    .basicsize = sizeof(struct copy),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = copy_slots,
};

int leat_cuda_copy_register(PyObject *module) {
    tensor_type = (PyTypeObject *)PyObject_GetAttrString(module, "Tensor");
    copy_type = tensor_type ? leat_py_type_add(module, &copy_spec) : NULL;
    return copy_type ? 0 : -1;
}
