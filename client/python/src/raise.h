/* raise.h: libleat's errors as the exceptions of leat.errors. All with the GIL. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* Each raises an exception and returns NULL. */
PyObject *leat_py_raise(const struct leat_error *error);
/* Frees the error. NULL raises MemoryError. */
PyObject *leat_py_raise_copy(struct leat_error *take_error);
/* The same for an error that ended a running stream: a faulty file is a DataError then. */
PyObject *leat_py_raise_run(struct leat_error *take_error);
/* Raises that code with a message of the extension's own. */
__attribute__((format(printf, 2, 3))) PyObject *leat_py_raise_text(int code, const char *format,
                                                                   ...);
/* The same, with the place in the spec ("stages[3].shuffle"). */
PyObject *leat_py_raise_at(int code, const char *path, const char *message);
