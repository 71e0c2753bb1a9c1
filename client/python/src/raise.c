/* raise.c: see raise.h. Which class an error has is decided in Python, in leat/errors.py. */
#include "client/python/src/raise.h"

#include <stdarg.h>
#include <string.h>

/* A function of leat.errors, NULL with an exception. */
static PyObject *find(const char *name) {
    PyObject *module = PyImport_ImportModule("leat.errors");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;

    Py_XDECREF(module);
    return function;
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

static PyObject *raise_by(const char *name, const struct leat_error *error) {
    PyObject *function = find(name), *exception;

    if (!function)
        return NULL;
    exception = PyObject_CallFunction(
        function, "iNNNNN", error->code,
        PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace"),
        text_or_none(error->file), number_or_none(error->line), number_or_none(error->column),
        text_or_none(error->path));
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_DECREF(function);
    return NULL;
}

PyObject *leat_py_raise(const struct leat_error *error) {
    return raise_by("from_code", error);
}

PyObject *leat_py_raise_run(const struct leat_error *error) {
    return raise_by("from_run", error);
}

PyObject *leat_py_raise_text(int code, const char *format, ...) {
    struct leat_error error = LEAT_ERROR_INIT;
    va_list ap;

    va_start(ap, format);
    (void)leat_error_setv(&error, code, format, ap);
    va_end(ap);
    return leat_py_raise(&error);
}
