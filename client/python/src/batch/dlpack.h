/* dlpack.h: the structures of DLPack 1.0 as consumers expect them in memory
 * (https://dmlc.github.io/dlpack/latest/c_api.html). Both kinds of capsules: the versioned one, and
 * the one from before versions, which most consumers still ask for.
 */
#pragma once

#include <stdint.h>

#define DLPACK_MAJOR 1
#define DLPACK_MINOR 0

#define DLPACK_CPU 1 /* of device types */

enum dlpack_code {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_BOOL = 6,
};

#define DLPACK_READ_ONLY UINT64_C(1) /* of flags */
#define DLPACK_IS_COPIED UINT64_C(2)

struct dlpack_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct dlpack_tensor {
    void *data;
    struct {
        int32_t type;
        int32_t id;
    } device;
    int32_t ndim;
    struct dlpack_dtype dtype;
    int64_t *shape;
    int64_t *strides; /* in elements */
    uint64_t byte_offset;
};

struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *context;
    void (*deleter)(struct dlpack_managed *self);
};

struct dlpack_versioned {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    void *context;
    void (*deleter)(struct dlpack_versioned *self);
    uint64_t flags;
    struct dlpack_tensor tensor;
};
