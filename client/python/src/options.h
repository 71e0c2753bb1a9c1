/* options.h: struct leat_open_options from a dict of Python. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* Its members by name; None leaves one as it is. Texts belong to the dict's values. `reconnect` is
 * taken out: *ret_reconnect is borrowed, NULL if there is none. `options` NULL or None: the
 * default, which has private_writes where delivery is shared. 0 or -1 with an exception. */
int leat_py_options_read(PyObject *options, struct leat_open_options *ret_options,
                         PyObject **ret_reconnect);
