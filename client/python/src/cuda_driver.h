/* cuda_driver.h: the part of CUDA's driver API that is needed to copy batches to a GPU, loaded from
 * libcuda.so.1 when it is first asked for: never linked, and no header of CUDA is needed to build.
 * Names and values are those of cuda.h (https://docs.nvidia.com/cuda/cuda-driver-api/).
 *
 * Owner: the process. Loaded once, with the GIL; what was loaded may be called by any thread.
 */
#pragma once

#include <Python.h>

#include <stddef.h>

typedef int leat_cuda_result; /* CUresult */
typedef int leat_cuda_device_id;
typedef unsigned long long leat_cuda_address; /* CUdeviceptr */

#define LEAT_CUDA_NOT_READY          600
#define LEAT_CUDA_ALREADY_REGISTERED 712

#define LEAT_CUDA_STREAM_NON_BLOCKING          1U
#define LEAT_CUDA_EVENT_DISABLE_TIMING         2U
#define LEAT_CUDA_REGISTER_PORTABLE            1U
#define LEAT_CUDA_REGISTER_READ_ONLY           8U
#define LEAT_CUDA_HAS_REGISTER_READ_ONLY       113 /* a device's attribute */
#define LEAT_CUDA_FUNCTION(name, symbol, args) leat_cuda_result(*name) args;

struct leat_cuda_driver {
#include "client/python/src/cuda_functions.h"
};
#undef LEAT_CUDA_FUNCTION

/* NULL: there is none, which is no error; *ret_reason (static) says why. With the GIL. */
const struct leat_cuda_driver *leat_cuda_driver_find(const char **ret_reason);

/* Raises leat.errors.Error with what was tried and what CUDA says. Returns NULL. */
PyObject *leat_cuda_raise(leat_cuda_result result, const char *what);
