/* spec.h: the spec of a stream built in Python, for libleat's builder. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* Makes a builder of {"name": .., "source": [kind, {..}], "stages": [[kind, {..}], ..],
 * "options": {..}}. The caller frees it. Returns 0, or -1 with an exception that has the place. */
int leat_py_spec_build(PyObject *spec, struct leat_builder **ret_builder);
