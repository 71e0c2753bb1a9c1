/* raise.c: see raise.h. leat/errors.py decides which class an error has. */
#include "client/python/src/raise.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "" becomes None. File names need not be UTF-8. */
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

/* Raises what the function `name` of leat.errors makes of the error. Returns NULL. */
static PyObject *raise_by(const char *name, int code, const char *message, const char *file,
                          uint32_t line, uint32_t column, const char *path) {
    PyObject *module = PyImport_ImportModule("leat.errors"), *exception;

    if (!module)
        return NULL;
    exception = PyObject_CallMethod(
        module, name, "iNNNNN", code,
        PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace"), text_or_none(file),
        number_or_none(line), number_or_none(column), text_or_none(path));
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_DECREF(module);
    return NULL;
}

static PyObject *raise_error(const char *name, const struct leat_error *error) {
    return raise_by(name, leat_error_code(error), leat_error_message(error), leat_error_file(error),
                    leat_error_line(error), leat_error_column(error), leat_error_path(error));
}

PyObject *leat_py_raise(const struct leat_error *error) {
    return raise_error("from_code", error);
}

static PyObject *raise_copy(const char *name, struct leat_error *take_error) {
    if (!take_error)
        return PyErr_NoMemory();
    (void)raise_error(name, take_error);
    leat_error_free(take_error);
    return NULL;
}

PyObject *leat_py_raise_copy(struct leat_error *take_error) {
    return raise_copy("from_code", take_error);
}

PyObject *leat_py_raise_run(struct leat_error *take_error) {
    return raise_copy("from_run", take_error);
}

PyObject *leat_py_raise_text(int code, const char *format, ...) {
    char message[512];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    return raise_by("from_code", code, message, "", 0, 0, "");
}

PyObject *leat_py_raise_at(int code, const char *path, const char *message) {
    return raise_by("from_code", code, message, "", 0, 0, path);
}
