/* tensor.h: `_leat.Tensor`: an array in a batch's slot. */
#pragma once

#include <Python.h>

#include "client/leat.h"
#include "client/python/src/stream/link.h"

struct leat_py_tensor {
    PyObject_HEAD struct leat_py_lease *lease; /* the tensor is one of its owners */
    PyObject *name;
    const char *dtype_name; /* static */
    enum leat_element dtype;
    int ndim;
    Py_ssize_t shape[LEAT_MAX_NDIM];
    Py_ssize_t strides[LEAT_MAX_NDIM]; /* bytes */
    Py_ssize_t item_bytes;
    Py_ssize_t n_bytes;
    const void *data;   /* as it is exported */
    const void *shared; /* the same bytes in the read-only mapping */
};

extern PyTypeObject *leat_py_tensor_type;

/* Returns 0, or -1 with an exception: the batch was released, or this is a forked child. */
int leat_py_tensor_check(const struct leat_py_tensor *self);

/* dlpack.c: the dtype, and __dlpack__ and __dlpack_device__. */
struct dlpack_dtype leat_py_tensor_dlpack_dtype(const struct leat_py_tensor *self);
PyObject *leat_py_tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *leat_py_tensor_dlpack_device(PyObject *self, PyObject *args);
