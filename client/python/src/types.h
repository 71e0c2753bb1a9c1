/* types.h: the extension's types, and how one part makes objects of another. All with the GIL. */
#pragma once

#include <Python.h>

#include "client/leat.h"

struct leat_py_lease;
struct leat_py_link;

/* leat_py_PART_register(module) of each part. Returns 0, or -1 with an exception. */
#define LEAT_PY_PART(name) int leat_py_##name##_register(PyObject *module);
#include "client/python/src/parts.h"
#undef LEAT_PY_PART

/* The second and third member of a PyMethodDef whose function takes keyword arguments. */
#define LEAT_PY_KEYWORDS(function)                                                                 \
    (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

/* Makes a type and adds it to the module. `name` is static, "leat._leat.NAME"; `flags` are added to
 * the default ones. The module holds the reference. NULL with an exception. */
PyTypeObject *leat_py_type_add(PyObject *module, const char *name, size_t object_bytes,
                               unsigned int flags, PyType_Slot *slots);
/* Frees an object's memory and drops its reference to its type: the end of every dealloc. */
void leat_py_object_free(PyObject *self);

/* Makes the Stream of an open stream. Consumes both takes, also on failure. batch_type: Batch, or a
 * subclass of it. */
PyObject *leat_py_stream_new(struct leat_py_link *take_link, struct leat_stream *take_stream,
                             bool is_copy, PyObject *batch_type);

/* Checks a subclass of Batch; NULL or None: Batch itself. Returns a borrowed reference, or NULL
 * with TypeError. */
PyObject *leat_py_batch_type(PyObject *type);
/* Makes a Batch of the lease's batch. `names`: a tuple, of the stream's tensors. Consumes the
 * lease, also on failure. */
PyObject *leat_py_batch_new(PyObject *batch_type, struct leat_py_lease *take_lease,
                            PyObject *names);

/* The lease of a readable Batch; borrowed. NULL with an exception: the object is no Batch, was
 * released, or was inherited by fork(). */
struct leat_py_lease *leat_py_batch_lease(PyObject *batch);

/* Makes a Tensor, which becomes one more owner of the lease. */
PyObject *leat_py_tensor_new(struct leat_py_lease *lease, const struct leat_tensor *tensor,
                             PyObject *name);
