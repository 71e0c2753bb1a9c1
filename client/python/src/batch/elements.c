/* elements.c: a tensor's elements as numbers of Python, without NumPy. */
#include <math.h>
#include <string.h>

#include "client/python/src/batch/tensor.h"

static double half_to_double(uint16_t half) {
    int exponent = (half >> 10) & 0x1f;
    int fraction = half & 0x3ff;
    double value;

    if (exponent == 0x1f)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, -24);
    else
        value = ldexp(fraction + 0x400, exponent - 25);
    return half & 0x8000 ? -value : value;
}

static double bfloat16_to_double(uint16_t upper) {
    uint32_t bits = (uint32_t)upper << 16;
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

/* The case of an element type: reads one as a `type`, and makes a number of it. */
#define CASE(dtype, type, make)                                                                    \
    case dtype: {                                                                                  \
        type value;                                                                                \
        memcpy(&value, place, sizeof(value));                                                      \
        return make;                                                                               \
    }

static PyObject *element(enum leat_element dtype, const char *place) {
    switch (dtype) {
        CASE(LEAT_BOOL, uint8_t, PyBool_FromLong(value))
        CASE(LEAT_UINT8, uint8_t, PyLong_FromLong(value))
        CASE(LEAT_UINT16, uint16_t, PyLong_FromLong(value))
        CASE(LEAT_INT8, int8_t, PyLong_FromLong(value))
        CASE(LEAT_INT16, int16_t, PyLong_FromLong(value))
        CASE(LEAT_INT32, int32_t, PyLong_FromLong(value))
        CASE(LEAT_INT64, int64_t, PyLong_FromLongLong(value))
        CASE(LEAT_FLOAT16, uint16_t, PyFloat_FromDouble(half_to_double(value)))
        CASE(LEAT_BFLOAT16, uint16_t, PyFloat_FromDouble(bfloat16_to_double(value)))
        CASE(LEAT_FLOAT32, float, PyFloat_FromDouble((double)value))
        CASE(LEAT_FLOAT64, double, PyFloat_FromDouble(value))
    }
    PyErr_SetString(PyExc_BufferError, "the element type is unknown");
    return NULL;
}

static PyObject *list(const struct leat_py_tensor *self, int dimension, const char *place) {
    PyObject *items;

    if (dimension >= self->ndim || dimension >= LEAT_MAX_NDIM)
        return element(self->dtype, place);
    items = PyList_New(self->shape[dimension]);
    for (Py_ssize_t i = 0; items && i < self->shape[dimension]; i++) {
        PyObject *item = list(self, dimension + 1, place + i * self->strides[dimension]);

        if (!item) {
            Py_DECREF(items);
            return NULL;
        }
        (void)PyList_SetItem(items, i, item);
    }
    return items;
}

PyObject *leat_py_tensor_tolist(PyObject *object, PyObject *args) {
    const struct leat_py_tensor *self = (const struct leat_py_tensor *)object;

    return leat_py_tensor_check(self) < 0 ? NULL : list(self, 0, self->data);
}
