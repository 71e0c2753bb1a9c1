#include "client/python/src/tokenizer/vocabulary.h"

#include <stdlib.h>

int leat_py_vocabulary_init(struct leat_py_vocabulary *vocabulary,
                            struct leat_tokenizer *take_tokenizer) {
    vocabulary->tokenizer = take_tokenizer;
    vocabulary->n_ids = leat_tokenizer_n_ids(take_tokenizer);
    vocabulary->numbers = calloc(vocabulary->n_ids + 1, sizeof(PyObject *));
    if (vocabulary->numbers)
        return 0;
    PyErr_NoMemory();
    return -1;
}

void leat_py_vocabulary_deinit(struct leat_py_vocabulary *vocabulary) {
    for (size_t i = 0; vocabulary->numbers && i < vocabulary->n_ids; i++)
        Py_XDECREF(vocabulary->numbers[i]);
    free(vocabulary->numbers);
    leat_tokenizer_free(vocabulary->tokenizer);
}

PyObject *leat_py_vocabulary_number(struct leat_py_vocabulary *vocabulary, int32_t id) {
    PyObject **number;

    if (id < 0 || (size_t)id >= vocabulary->n_ids)
        return PyLong_FromLong(id);
    number = &vocabulary->numbers[id];
    if (!*number)
        *number = PyLong_FromLong(id);
    return Py_XNewRef(*number);
}

PyObject *leat_py_vocabulary_token(const struct leat_py_vocabulary *vocabulary, int32_t id,
                                   bool is_entry) {
    uint32_t n = 0;
    const uint8_t *text = is_entry ? leat_tokenizer_entry(vocabulary->tokenizer, id, &n)
                                   : leat_tokenizer_token(vocabulary->tokenizer, id, &n);

    return text ? PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)n, "replace")
                : Py_NewRef(Py_None);
}

static int add_entry(PyObject *dict, struct leat_py_vocabulary *vocabulary, int32_t id) {
    PyObject *token = leat_py_vocabulary_token(vocabulary, id, true), *number;
    int r = token == Py_None ? 0 : -1;

    number = token && r < 0 ? leat_py_vocabulary_number(vocabulary, id) : NULL;
    if (number)
        r = PyDict_SetItem(dict, token, number);
    Py_XDECREF(token);
    Py_XDECREF(number);
    return r;
}

PyObject *leat_py_vocabulary_dict(struct leat_py_vocabulary *vocabulary, bool only_added) {
    PyObject *dict = PyDict_New();

    for (int32_t id = 0; dict && (size_t)id < vocabulary->n_ids; id++)
        if ((!only_added || leat_tokenizer_is_added(vocabulary->tokenizer, id)) &&
            add_entry(dict, vocabulary, id) < 0)
            Py_CLEAR(dict);
    return dict;
}
