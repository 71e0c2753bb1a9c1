/* encodings.h: the type `_leat.Encodings`: what a call of Tokenizer.encode() made, still as numbers
 * of C, to be had as lists or written into memory of the caller's. Owner: Python, under its lock.
 */
#pragma once

#include <Python.h>

#include "client/python/src/encoder.h"

/* Adds the type to the module. 0 or -1 with an exception. */
int leat_py_encodings_register(PyObject *module);

/* Consumes the portions, also on failure. tokenizer: where the numbers come from. */
PyObject *leat_py_encodings_new(PyObject *tokenizer, struct leat_py_portion *take_portions,
                                size_t n_portions);
