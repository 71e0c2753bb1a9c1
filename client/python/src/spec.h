/* spec.h: a stream built in Python, as libleat's builder takes it. */
#pragma once

#include <Python.h>

#include "client/leat.h"

/* From {"name": .., "source": [kind, {..}], "stages": [[kind, {..}], ..], "options": {..}}. The
 * builder is to be freed. 0 or -1 with an exception, which names the place. */
int leat_py_spec_build(PyObject *spec, struct leat_builder **ret_builder);
