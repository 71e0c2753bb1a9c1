/* raise.h: libleat's errors as the exceptions of leat.errors. All of it with the GIL. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* Raises what the error says. Returns NULL. */
PyObject *leat_py_raise(const struct leat_error *error);
/* The same, and frees it; NULL: MemoryError. */
PyObject *leat_py_raise_copy(struct leat_error *take_error);
/* The same for what ended a stream that ran: then what is wrong with a file is the data. */
PyObject *leat_py_raise_run(struct leat_error *take_error);
/* Raises that code with a message of the binding's own. Returns NULL. */
__attribute__((format(printf, 2, 3))) PyObject *leat_py_raise_text(int code, const char *format,
                                                                   ...);
/* The same, with the place in the spec ("stages[3].shuffle"). Returns NULL. */
PyObject *leat_py_raise_at(int code, const char *path, const char *message);
