/* memory.c: `_leat.CudaMemory`: memory of a GPU, and DLPack capsules of it, for frameworks without
 * an allocator to ask. It lives as long as its object or a capsule does. */
#include <Python.h>
#include <stdlib.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/batch/dlpack.h"
#include "client/python/src/batch/tensor.h"
#include "client/python/src/cuda/device.h"
#include "client/python/src/types.h"

#define CAPSULE     "dltensor"
#define DLPACK_CUDA 2 /* of device types */

struct memory {
    PyObject_HEAD struct leat_cuda_device *device;
    leat_cuda_address address;
    size_t n_bytes;
};

struct view {
    struct dlpack_managed managed;
    struct memory *memory; /* a reference */
    int64_t shape[LEAT_MAX_NDIM];
};

static PyTypeObject *memory_type;

PyObject *leat_cuda_memory_alloc(PyObject *object, PyObject *n_bytes) {
    struct leat_cuda_device *device = (struct leat_cuda_device *)object;
    size_t size = PyLong_AsSize_t(n_bytes);
    struct memory *self =
        PyErr_Occurred() ? NULL : (struct memory *)PyType_GenericAlloc(memory_type, 0);
    leat_cuda_result result = 0;

    if (!self)
        return NULL;
    self->device = (struct leat_cuda_device *)Py_NewRef(object);
    self->n_bytes = size ? size : 1; /* CUDA has no empty memory */
    if (leat_cuda_device_enter(device) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    result = device->driver->alloc(&self->address, self->n_bytes);
    leat_cuda_device_leave(device);
    if (leat_cuda_check(result, "cuMemAlloc") == 0)
        return (PyObject *)self;
    self->address = 0;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void memory_dealloc(PyObject *object) {
    struct memory *self = (struct memory *)object;
    const struct leat_cuda_device *device = self->device;

    if (self->address && device->pid == getpid() && device->driver->push(device->context) == 0) {
        (void)device->driver->free(self->address);
        leat_cuda_device_leave(device);
    }
    Py_XDECREF((PyObject *)self->device);
    leat_py_object_free(object);
}

/* ---- capsules ---- */

/* On any thread, with or without the GIL. */
static void drop_view(struct dlpack_managed *managed) {
    struct view *view = managed->context;
    PyGILState_STATE state;

    if (Py_IsInitialized()) {
        state = PyGILState_Ensure();
        Py_DECREF((PyObject *)view->memory);
        PyGILState_Release(state);
    }
    free(view);
}

static void destroy_capsule(PyObject *capsule) {
    struct dlpack_managed *managed;

    if (!PyCapsule_IsValid(capsule, CAPSULE)) /* a consumer has taken it */
        return;
    managed = PyCapsule_GetPointer(capsule, CAPSULE);
    managed->deleter(managed);
}

/* The capsule has the dtype and the shape of the tensor, which was copied here. */
static PyObject *capsule_method(PyObject *object, PyObject *args) {
    struct memory *self = (struct memory *)object;
    const struct leat_py_tensor *tensor;
    struct view *view;
    PyObject *capsule;

    if (!PyArg_ParseTuple(args, "O!", leat_py_tensor_type, &tensor))
        return NULL;
    if ((size_t)tensor->n_bytes > self->n_bytes)
        return PyErr_Format(PyExc_ValueError,
                            "the tensor needs more than the %zu bytes of this memory",
                            self->n_bytes);
    view = calloc(1, sizeof(*view));
    if (!view)
        return PyErr_NoMemory();
    for (int d = 0; d < tensor->ndim; d++)
        view->shape[d] = tensor->shape[d];
    view->memory = (struct memory *)Py_NewRef(object);
    view->managed.context = view;
    view->managed.deleter = drop_view;
    view->managed.tensor = (struct dlpack_tensor){
        .data = (void *)(uintptr_t)self->address,
        .device = {.type = DLPACK_CUDA, .id = self->device->ordinal},
        .ndim = tensor->ndim,
        .dtype = leat_py_tensor_dlpack_dtype(tensor),
        .shape = view->shape,
    };
    capsule = PyCapsule_New(&view->managed, CAPSULE, destroy_capsule);
    if (!capsule)
        drop_view(&view->managed);
    return capsule;
}

static PyMemberDef memory_members[] = {
    {"address", T_ULONGLONG, offsetof(struct memory, address), READONLY, NULL},
    {"nbytes", T_PYSSIZET, offsetof(struct memory, n_bytes), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef memory_methods[] = {
    {"capsule", capsule_method, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, memory_dealloc},
    {Py_tp_members, memory_members},
    {Py_tp_methods, memory_methods},
    {0, NULL},
};

int leat_py_cuda_memory_register(PyObject *module) {
    memory_type = leat_py_type_add(module, "leat._leat.CudaMemory", sizeof(struct memory),
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION, memory_slots);
    return memory_type ? 0 : -1;
}
