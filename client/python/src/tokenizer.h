/* tokenizer.h: the type `_leat.Tokenizer`. Owner: Python, under its lock. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds the types Tokenizer and Encodings, and the functions of chat.h. 0 or -1 with an exception.
 */
int leat_py_tokenizer_register(PyObject *module);

/* An id as a Python number, a new reference: of each id there is one number per tokenizer, so that
 * a list of a million ids costs the list alone. */
PyObject *leat_py_tokenizer_number(PyObject *tokenizer, int32_t id);

/* The spelling of an id, a new reference; None for an id without a token. is_entry: as the file has
 * it, not as the normalizer makes it. */
PyObject *leat_py_tokenizer_token(PyObject *tokenizer, int32_t id, bool is_entry);
