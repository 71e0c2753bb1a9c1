/* dlpack.c: a tensor as a DLPack capsule, of either kind. See dlpack.h.
 *
 * The consumer of the capsule calls its deleter later, on any thread, with or without the GIL.
 * Until then the export holds the slot, or a copy of the data if one was asked for.
 */
#include "client/python/src/batch/dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "client/python/src/batch/tensor.h"

#define ALIGN 64

struct export {
    union {
        struct dlpack_managed old;
        struct dlpack_versioned versioned;
    } managed;
    struct leat_py_lease *lease; /* held; NULL: it is a copy */
    void *copy;
    int64_t shape[LEAT_MAX_NDIM];
    int64_t strides[LEAT_MAX_NDIM];
};

/* Any thread. */
static void export_free(struct export *export) {
    if (export->lease)
        leat_py_lease_unhold(export->lease);
    free(export->copy);
    free(export);
}

static void delete_old(struct dlpack_managed *managed) {
    export_free(managed->context);
}

static void delete_versioned(struct dlpack_versioned *managed) {
    export_free(managed->context);
}

static uint8_t code_of(enum leat_element dtype) {
    switch (dtype) {
    case LEAT_BOOL:
        return DLPACK_BOOL;
    case LEAT_UINT8:
    case LEAT_UINT16:
        return DLPACK_UINT;
    case LEAT_INT8:
    case LEAT_INT16:
    case LEAT_INT32:
    case LEAT_INT64:
        return DLPACK_INT;
    case LEAT_BFLOAT16:
        return DLPACK_BFLOAT;
    default:
        return DLPACK_FLOAT;
    }
}

struct dlpack_dtype leat_py_tensor_dlpack_dtype(const struct leat_py_tensor *self) {
    return (struct dlpack_dtype){
        .code = code_of(self->dtype), .bits = (uint8_t)(self->item_bytes * 8), .lanes = 1};
}

static void fill(struct export *export, const struct leat_py_tensor *self,
                 struct dlpack_tensor *ret) {
    for (int d = 0; d < self->ndim; d++) {
        export->shape[d] = self->shape[d];
        export->strides[d] = self->strides[d] / self->item_bytes;
    }
    *ret = (struct dlpack_tensor){
        .data = export->copy ? export->copy : (void *)(uintptr_t)self->data,
        .device = {.type = DLPACK_CPU},
        .ndim = self->ndim,
        .dtype = leat_py_tensor_dlpack_dtype(self),
        .shape = export->shape,
        .strides = export->strides,
    };
}

/* ---- capsules ---- */

/* Frees the export of a capsule that no consumer took, and so renamed. */
static void drop_old(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_old(PyCapsule_GetPointer(capsule, "dltensor"));
}

static void drop_versioned(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

static PyObject *wrap_old(struct export *export, const struct leat_py_tensor *self) {
    struct dlpack_managed *managed = &export->managed.old;

    managed->context = export;
    managed->deleter = delete_old;
    fill(export, self, &managed->tensor);
    return PyCapsule_New(managed, "dltensor", drop_old);
}

static PyObject *wrap_versioned(struct export *export, const struct leat_py_tensor *self,
                                uint64_t flags) {
    struct dlpack_versioned *managed = &export->managed.versioned;

    managed->version.major = DLPACK_MAJOR;
    managed->version.minor = DLPACK_MINOR;
    managed->context = export;
    managed->deleter = delete_versioned;
    managed->flags = flags;
    fill(export, self, &managed->tensor);
    return PyCapsule_New(managed, "dltensor_versioned", drop_versioned);
}

/* ---- __dlpack__ ---- */

static int refuse(const char *message) {
    PyErr_SetString(PyExc_BufferError, message);
    return -1;
}

/* A tensor on the CPU takes None or -1, no synchronisation. */
static int check_stream(PyObject *stream) {
    if (stream == Py_None)
        return 0;
    if (PyLong_Check(stream) && PyLong_AsLong(stream) == -1 && !PyErr_Occurred())
        return 0;
    PyErr_Clear();
    return refuse("stream must be None, because the tensor is on the CPU");
}

/* Reads a device or a version of the array API. Returns 0, or -1 with an exception. */
static int read_pair(PyObject *pair, const char *name, int ret[2]) {
    if (PyTuple_Check(pair))
        return PyArg_ParseTuple(pair, "ii", &ret[0], &ret[1]) ? 0 : -1;
    PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers", name);
    return -1;
}

static int check_device(PyObject *device) {
    int pair[2];

    if (device == Py_None)
        return 0;
    if (read_pair(device, "dl_device", pair) < 0)
        return -1;
    return pair[0] == DLPACK_CPU
               ? 0
               : refuse("dl_device must be (1, 0), because the tensor is on the CPU");
}

static int read_version(PyObject *version, bool *ret_is_versioned) {
    int pair[2] = {0, 0};

    if (version != Py_None && read_pair(version, "max_version", pair) < 0)
        return -1;
    *ret_is_versioned = pair[0] >= DLPACK_MAJOR;
    return 0;
}

/* Holds the slot meanwhile, since another thread may release the batch. */
static int copy_data(struct export *export, const struct leat_py_tensor *self) {
    size_t n_bytes = ((size_t)self->n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    PyThreadState *thread;

    export->copy = aligned_alloc(ALIGN, n_bytes ? n_bytes : ALIGN);
    if (!export->copy) {
        PyErr_NoMemory();
        return -1;
    }
    leat_py_lease_hold(self->lease);
    thread = PyEval_SaveThread();
    memcpy(export->copy, self->data, (size_t)self->n_bytes);
    leat_py_lease_unhold(self->lease);
    PyEval_RestoreThread(thread);
    return 0;
}

/* Holds the slot, and makes it writable; *flags says if that cannot be. */
static int share_data(struct export *export, const struct leat_py_tensor *self, bool is_versioned,
                      uint64_t *flags) {
    if (leat_batch_let_write(self->lease->batch) < 0) {
        if (!is_versioned)
            return refuse(
                "without private_writes, batches are read-only, but an unversioned DLPack "
                "capsule must be writable: ask for a copy with copy=True");
        *flags |= DLPACK_READ_ONLY;
    }
    leat_py_lease_hold(self->lease);
    export->lease = self->lease;
    return 0;
}

static PyObject *make(const struct leat_py_tensor *self, bool is_versioned, bool is_copy) {
    struct export *export = calloc(1, sizeof(*export));
    uint64_t flags = is_copy ? DLPACK_IS_COPIED : 0;
    PyObject *capsule = NULL;

    if (!export)
        return PyErr_NoMemory();
    if ((is_copy ? copy_data(export, self) : share_data(export, self, is_versioned, &flags)) == 0)
        capsule = is_versioned ? wrap_versioned(export, self, flags) : wrap_old(export, self);
    if (!capsule)
        export_free(export);
    return capsule;
}

PyObject *leat_py_tensor_dlpack(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    const struct leat_py_tensor *self = (const struct leat_py_tensor *)object;
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    bool is_versioned;
    int is_copy;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", names, &stream, &version, &device,
                                     &copy) ||
        leat_py_tensor_check(self) < 0 || check_stream(stream) < 0 || check_device(device) < 0 ||
        read_version(version, &is_versioned) < 0)
        return NULL;
    is_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    return is_copy < 0 ? NULL : make(self, is_versioned, is_copy);
}

PyObject *leat_py_tensor_dlpack_device(PyObject *self, PyObject *args) {
    return Py_BuildValue("ii", DLPACK_CPU, 0);
}
