/* encodings.h: `_leat.Encodings`: the rows that a call of Tokenizer.encode() made, still in columns
 * of C, to be read as lists or written into the caller's memory. Owner: Python, under its lock.
 */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/python/src/tokenizer/encoder.h"
#include "pipeline/tokenizer/tokenizer.h"

/* The tokens of a tokenizer as Python objects. There is one Python number per id, so
 * that a list of a million ids costs the list alone. Owner: Python, under its lock. */
struct leat_py_vocabulary {
    struct leat_tokenizer *tokenizer;
    PyObject **numbers; /* [n_ids], each made at its first use */
    size_t n_ids;
};

/* Takes the tokenizer, also on failure: deinit frees it. Returns 0, or -1 with an exception. */
int leat_py_vocabulary_init(struct leat_py_vocabulary *vocabulary,
                            struct leat_tokenizer *take_tokenizer);
/* Also for one that is zeroed. */
void leat_py_vocabulary_deinit(struct leat_py_vocabulary *vocabulary);

/* Each returns a new reference, or NULL with an exception. */
PyObject *leat_py_vocabulary_number(struct leat_py_vocabulary *vocabulary, int32_t id);
/* The spelling of an id; None if it has no token. is_entry: as the file has it, before the
 * normalizer. */
PyObject *leat_py_vocabulary_token(const struct leat_py_vocabulary *vocabulary, int32_t id,
                                   bool is_entry);
/* A dict of tokens, as the file has them, to ids. */
PyObject *leat_py_vocabulary_dict(struct leat_py_vocabulary *vocabulary, bool only_added);

/* Consumes the portions, also on failure. `owner` keeps the vocabulary. */
PyObject *leat_py_encodings_new(PyObject *owner, struct leat_py_vocabulary *vocabulary,
                                struct leat_py_portion *take_portions, size_t n_portions);
