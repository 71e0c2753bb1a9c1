/* device.c: `_leat.CudaDevice`. See device.h. */
#include "client/python/src/cuda/device.h"

#include <errno.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/cuda/rings.h"
#include "client/python/src/raise.h"
#include "client/python/src/types.h"

int leat_cuda_device_enter(const struct leat_cuda_device *device) {
    if (device->pid != getpid()) {
        leat_py_raise_text(-EPERM,
                           "this CUDA device belongs to process %d, which called fork(): a child "
                           "process cannot use CUDA",
                           (int)device->pid);
        return -1;
    }
    return leat_cuda_check(device->driver->push(device->context), "cuCtxPushCurrent");
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
    return leat_cuda_check(result, "cuStreamCreate");
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
    if (leat_cuda_check(result, "cuDevicePrimaryCtxRetain") < 0) {
        self->context = NULL;
        return -1;
    }
    (void)self->driver->attribute(&can_register, LEAT_CUDA_HAS_REGISTER_READ_ONLY, self->id);
    self->can_register = can_register != 0;
    return open_stream(self);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"ordinal", NULL};
    const struct leat_cuda_driver *driver;
    struct leat_cuda_device *self;
    const char *reason;
    int ordinal = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|i", names, &ordinal))
        return NULL;
    driver = leat_cuda_driver_find(&reason);
    if (!driver)
        return leat_py_raise_text(-ENOENT, "cannot use CUDA: %s", reason);
    self = (struct leat_cuda_device *)PyType_GenericAlloc(type, 0);
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

static PyObject *get_name(PyObject *object, void *closure) {
    struct leat_cuda_device *self = (struct leat_cuda_device *)object;
    char name[128] = "";

    (void)self->driver->name(name, sizeof(name), self->id);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strnlen(name, sizeof(name)), "replace");
}

static PyObject *get_stream(PyObject *self, void *closure) {
    return PyLong_FromVoidPtr(((struct leat_cuda_device *)self)->stream);
}

static PyMemberDef device_members[] = {
    {"ordinal", T_INT, offsetof(struct leat_cuda_device, ordinal), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef device_getters[] = {
    {"name", get_name, NULL, NULL, NULL},
    {"stream", get_stream, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef device_methods[] = {
    {"copy", leat_cuda_copy_start, METH_O, NULL},
    {"alloc", leat_cuda_memory_alloc, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_new, device_new},         {Py_tp_dealloc, device_dealloc},
    {Py_tp_members, device_members}, {Py_tp_getset, device_getters},
    {Py_tp_methods, device_methods}, {0, NULL},
};

static PyObject *count_rings(PyObject *module, PyObject *args) {
    return PyLong_FromSize_t(leat_cuda_rings_count());
}

static PyMethodDef functions[] = {
    {"cuda_n_rings", count_rings, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int leat_py_cuda_device_register(PyObject *module) {
    if (!leat_py_type_add(module, "leat._leat.CudaDevice", sizeof(struct leat_cuda_device), 0,
                          device_slots))
        return -1;
    return PyModule_AddFunctions(module, functions);
}
