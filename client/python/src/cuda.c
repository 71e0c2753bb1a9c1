/* cuda.c: `_leat.CudaDevice`, and the part's registration. See cuda.h. */
#include "client/python/src/cuda.h"

#include <errno.h>
#include <unistd.h>

#include "client/python/src/cuda_rings.h"
#include "client/python/src/raise.h"
#include "client/python/src/ring.h"
#include "client/python/src/types.h"

static PyTypeObject *device_type;

int leat_cuda_device_enter(const struct leat_cuda_device *device) {
    leat_cuda_result result;

    if (device->pid != getpid()) {
        leat_py_raise_text(-EPERM,
                           "this CUDA device was opened by process %d, before fork(); CUDA cannot "
                           "be used in the child",
                           (int)device->pid);
        return -1;
    }
    result = device->driver->push(device->context);
    if (result == 0)
        return 0;
    leat_cuda_raise(result, "cuCtxPushCurrent");
    return -1;
}

void leat_cuda_device_leave(const struct leat_cuda_device *device) {
    void *popped;

    (void)device->driver->pop(&popped);
}

static int open_stream(struct leat_cuda_device *self) {
    leat_cuda_result result;

    if (leat_cuda_device_enter(self) < 0)
        return -1;
    result = self->driver->stream_create(&self->stream, LEAT_CUDA_STREAM_NON_BLOCKING);
    leat_cuda_device_leave(self);
    if (result == 0)
        return 0;
    leat_cuda_raise(result, "cuStreamCreate");
    return -1;
}

static int open_device(struct leat_cuda_device *self) {
    int can_register = 0;
    leat_cuda_result result = self->driver->get(&self->id, self->ordinal);

    if (result != 0) {
        leat_py_raise_text(-ENOENT, "there is no CUDA device %d (cuDeviceGet: %d)", self->ordinal,
                           result);
        return -1;
    }
    result = self->driver->retain(&self->context, self->id);
    if (result != 0) {
        self->context = NULL;
        leat_cuda_raise(result, "cuDevicePrimaryCtxRetain");
        return -1;
    }
    (void)self->driver->attribute(&can_register, LEAT_CUDA_HAS_REGISTER_READ_ONLY, self->id);
    self->can_register = can_register != 0;
    return open_stream(self);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"ordinal", NULL};
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    const struct leat_cuda_driver *driver;
    struct leat_cuda_device *self;
    const char *reason;
    int ordinal = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|i", names, &ordinal))
        return NULL;
    driver = leat_cuda_driver_find(&reason);
    if (!driver)
        return leat_py_raise_text(-ENOENT, "CUDA cannot be used: %s", reason);
    self = (struct leat_cuda_device *)alloc(type, 0);
    if (!self)
        return NULL;
    self->driver = driver;
    self->ordinal = ordinal;
    self->pid = getpid();
    if (open_device(self) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void device_dealloc(PyObject *object) {
    struct leat_cuda_device *self = (struct leat_cuda_device *)object;

    if (self->context && self->pid == getpid()) {
        if (self->stream && self->driver->push(self->context) == 0) {
            (void)self->driver->stream_destroy(self->stream);
            leat_cuda_device_leave(self);
        }
        (void)self->driver->release(self->id);
    }
    leat_py_object_free(object);
}

static PyObject *get_ordinal(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromLong(((struct leat_cuda_device *)self)->ordinal);
}

static PyObject *get_name(PyObject *object, void *closure) {
    struct leat_cuda_device *self = (struct leat_cuda_device *)object;
    char name[128] = "";

    (void)closure;
    (void)self->driver->name(name, sizeof(name), self->id);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strnlen(name, sizeof(name)), "replace");
}

static PyObject *get_stream(PyObject *self, void *closure) {
    (void)closure;
    return PyLong_FromVoidPtr(((struct leat_cuda_device *)self)->stream);
}

static PyObject *get_can_register(PyObject *self, void *closure) {
    (void)closure;
    return PyBool_FromLong(((struct leat_cuda_device *)self)->can_register);
}

static PyGetSetDef device_members[] = {
    {"ordinal", get_ordinal, NULL, PyDoc_STR("Of the device, as CUDA counts them."), NULL},
    {"name", get_name, NULL, PyDoc_STR("\"NVIDIA H200\""), NULL},
    {"stream", get_stream, NULL, PyDoc_STR("The CUstream on which copies run, as a number."), NULL},
    {"can_register", get_can_register, NULL,
     PyDoc_STR("Whether memory that is mapped read-only can be registered."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef device_methods[] = {
    {"copy", leat_cuda_copy_start, METH_O,
     PyDoc_STR("copy(pieces, /)\n--\n\nBegins to copy each (Tensor, device address) of a sequence, "
               "on the device's stream. Returns a CudaCopy, which holds the slots meanwhile.")},
    {"alloc", leat_cuda_memory_alloc, METH_O,
     PyDoc_STR("alloc(nbytes, /)\n--\n\nMemory of the device: a CudaMemory.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, PyDoc_STR("CudaDevice(ordinal=0)\n--\n\nA GPU, in its primary context, with a "
                          "stream of its own. NotFoundError: no CUDA, or no such device.")},
    {Py_tp_new, device_new},
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_getset, device_members},
    {Py_tp_methods, device_methods},
    {0, NULL},
};

static PyType_Spec device_spec = {
    .name = "leat._leat.CudaDevice",
    .basicsize = sizeof(struct leat_cuda_device),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = device_slots,
};

static PyObject *count(PyObject *module, PyObject *args) {
    const char *reason;
    const struct leat_cuda_driver *driver = leat_cuda_driver_find(&reason);
    leat_cuda_result result;
    int n = 0;

    (void)module;
    (void)args;
    if (!driver)
        return PyLong_FromLong(0);
    result = driver->count(&n);
    return result == 0 ? PyLong_FromLong(n) : leat_cuda_raise(result, "cuDeviceGetCount");
}

static PyObject *count_rings(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    return PyLong_FromSize_t(leat_cuda_rings_count());
}

static PyMethodDef functions[] = {
    {"cuda_count", count, METH_NOARGS,
     PyDoc_STR("cuda_count()\n--\n\nNumber of CUDA devices; 0 without a driver.")},
    {"cuda_n_rings", count_rings, METH_NOARGS,
     PyDoc_STR("cuda_n_rings()\n--\n\nRings of batches that are registered with CUDA.")},
    {NULL, NULL, 0, NULL},
};

int leat_py_cuda_register(PyObject *module);

int leat_py_cuda_register(PyObject *module) {
    device_type = leat_py_type_add(module, &device_spec);
    if (!device_type || PyModule_AddFunctions(module, functions) < 0 ||
        leat_cuda_copy_register(module) < 0 || leat_cuda_memory_register(module) < 0)
        return -1;
    leat_py_ring_watch(leat_cuda_rings_forget);
    return 0;
}
