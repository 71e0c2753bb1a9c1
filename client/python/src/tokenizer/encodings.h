/* encodings.h: `_leat.Encodings`: the rows that a call of Tokenizer.encode() made, still in columns
 * of C, to be read as lists or written into the caller's memory. Owner: Python, under its lock.
 */
#pragma once

#include <Python.h>

#include "client/python/src/tokenizer/encoder.h"
#include "client/python/src/tokenizer/vocabulary.h"

/* Consumes the portions, also on failure. `owner` keeps the vocabulary. */
PyObject *leat_py_encodings_new(PyObject *owner, struct leat_py_vocabulary *vocabulary,
                                struct leat_py_portion *take_portions, size_t n_portions);
