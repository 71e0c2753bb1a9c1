/* driver.h: the functions of CUDA's driver API that copy batches to a GPU. They are loaded from
 * libcuda.so.1 at the first use; nothing is linked, and no header of CUDA is needed to build.
 * Names and values are those of cuda.h (https://docs.nvidia.com/cuda/cuda-driver-api/).
 *
 * Owner: the process. Loaded once, with the GIL; any thread may call the functions.
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
#include "client/python/src/cuda/functions.h"
};
#undef LEAT_CUDA_FUNCTION

/* NULL without an exception: CUDA cannot be used, and *ret_reason (static) says why. With the GIL.
 */
const struct leat_cuda_driver *leat_cuda_driver_find(const char **ret_reason);

/* Returns 0 for success; else -1, with leat.errors.Error, which tells what failed and why. */
int leat_cuda_check(leat_cuda_result result, const char *what);
