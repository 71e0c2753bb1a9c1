/* options.h: struct leat_open_options from a dict of Python. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* Reads the members by name; None keeps the default. Texts belong to the values of the dict.
 * *ret_reconnect is the value of `reconnect`, borrowed, or NULL. `options` NULL or None: the
 * defaults, with private_writes. Returns 0, or -1 with an exception. */
int leat_py_options_read(PyObject *options, struct leat_open_options *ret_options,
                         PyObject **ret_reconnect);
