/* types.h: the extension's types, and how one makes objects of the others. All with the GIL. */
#pragma once

#include <Python.h>

#include "client/leat.h"
#include "client/python/src/link.h"

/* Made by leat_py_*_register(), which adds them to the module. 0 or -1 with an exception. */
int leat_py_client_register(PyObject *module);
int leat_py_stream_register(PyObject *module);
int leat_py_batch_register(PyObject *module);
int leat_py_save_register(PyObject *module);
int leat_py_tensor_register(PyObject *module);

/* A type of that spec, kept by the caller's static pointer too. NULL with an exception. */
PyTypeObject *leat_py_type_add(PyObject *module, PyType_Spec *spec);
/* Frees an object's memory, and lets go of its type: the end of every dealloc. */
void leat_py_object_free(PyObject *self);

/* The Stream of an open one, which it takes, also on failure. batch_type: Batch, or a class of it.
 */
PyObject *leat_py_stream_new(struct leat_py_link *take_link, struct leat_stream *take_stream,
                             bool is_copy, PyObject *batch_type);

/* Batch or a class of it. NULL or None: Batch. Borrowed. NULL with TypeError: it is none. */
PyObject *leat_py_batch_type(PyObject *type);
/* A Batch of the lease's batch. `names`: a tuple of the stream's. Takes the lease, also on failure.
 */
PyObject *leat_py_batch_new(PyObject *batch_type, struct leat_py_lease *take_lease,
                            PyObject *names);

/* The lease of a Batch that can be read; borrowed. NULL with an exception: it is no Batch, was
 * released, or came before fork(). */
struct leat_py_lease *leat_py_batch_lease(PyObject *batch);

/* A Tensor, an owner of the lease more. */
PyObject *leat_py_tensor_new(struct leat_py_lease *lease, const struct leat_tensor *tensor,
                             PyObject *name);
