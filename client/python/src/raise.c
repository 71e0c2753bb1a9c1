/* raise.c: see raise.h. Which class an error has is decided in Python, in leat/errors.py. */
#include "client/python/src/raise.h"

#include <stdarg.h>
#include <string.h>

static PyObject *from_code; /* leat.errors.from_code, once it was needed */

static int find_from_code(void) {
    PyObject *module;

    if (from_code)
        return 0;
    module = PyImport_ImportModule("leat.errors");
    if (!module)
        return -1;
    from_code = PyObject_GetAttrString(module, "from_code");
    Py_DECREF(module);
    return from_code ? 0 : -1;
}

/* Names in files need not be UTF-8. "" is None. */
static PyObject *text_or_none(const char *text) {
    if (!text[0])
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *number_or_none(uint32_t number) {
    if (number == 0)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(number);
}

PyObject *leat_py_raise(const struct leat_error *error) {
    PyObject *exception;

    if (find_from_code() < 0)
        return NULL;
    exception = PyObject_CallFunction(
        from_code, "iNNNNN", error->code,
        PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace"),
        text_or_none(error->file), number_or_none(error->line), number_or_none(error->column),
        text_or_none(error->path));
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *leat_py_raise_text(int code, const char *format, ...) {
    struct leat_error error = LEAT_ERROR_INIT;
    va_list ap;

    va_start(ap, format);
    (void)leat_error_setv(&error, code, format, ap);
    va_end(ap);
    return leat_py_raise(&error);
}
