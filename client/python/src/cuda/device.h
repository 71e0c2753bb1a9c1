/* device.h: `_leat.CudaDevice`: a GPU that batches are copied to.
 *
 * Copies run on a stream of the device's own, beside what a framework computes. A copy holds the
 * slots that it reads until an event says that it is done. All with the GIL, except for calls of
 * CUDA that may take long.
 */
#pragma once

#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>

#include "client/python/src/cuda/driver.h"

struct leat_cuda_device {
    PyObject_HEAD const struct leat_cuda_driver *driver;
    int ordinal;
    leat_cuda_device_id id;
    void *context; /* the primary context, which frameworks use too; NULL: not retained */
    void *stream;
    bool can_register;
    pid_t pid;
};

/* Makes the device's context current until leat_cuda_device_leave(). Returns 0, or -1 with an
 * exception: CUDA fails, or this is a forked child. */
int leat_cuda_device_enter(const struct leat_cuda_device *device);
void leat_cuda_device_leave(const struct leat_cuda_device *device);

/* The methods `copy` and `alloc` of CudaDevice. */
PyObject *leat_cuda_copy_start(PyObject *device, PyObject *pieces);
PyObject *leat_cuda_memory_alloc(PyObject *device, PyObject *n_bytes);
