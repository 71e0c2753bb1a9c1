/* cuda.h: a GPU as batches are copied to it: `_leat.CudaDevice`, its memory and its copies.
 *
 * Copies run on a stream of the device's own, beside whatever a framework computes. A copy holds
 * the slots that it reads until an event says that it is done. All with the GIL, but where CUDA may
 * take long: then without.
 */
#pragma once

#include <Python.h>

#include <stdbool.h>
#include <sys/types.h>

#include "client/python/src/cuda_driver.h"

struct leat_cuda_device {
    PyObject_HEAD const struct leat_cuda_driver *driver;
    int ordinal;
    leat_cuda_device_id id;
    void *context; /* the primary one, which frameworks use too; NULL: not retained */
    void *stream;
    bool can_register;
    pid_t pid;
};

/* Makes the device's context current; to be followed by leat_cuda_device_leave(). 0, or -1 with an
 * exception: CUDA says no, or this is a forked child. */
int leat_cuda_device_enter(const struct leat_cuda_device *device);
void leat_cuda_device_leave(const struct leat_cuda_device *device);

/* The types, once the extension's own are there. 0 or -1 with an exception. */
int leat_cuda_copy_register(PyObject *module);
int leat_cuda_memory_register(PyObject *module);

/* The methods `copy` and `alloc` of CudaDevice. */
PyObject *leat_cuda_copy_start(PyObject *device, PyObject *pieces);
PyObject *leat_cuda_memory_alloc(PyObject *device, PyObject *n_bytes);
