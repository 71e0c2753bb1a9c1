/* elements.c: a tensor's elements as numbers of Python, without NumPy. */
#include <math.h>
#include <string.h>

#include "client/python/src/tensor.h"

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

#define READ(type)                                                                                 \
    type value;                                                                                    \
    memcpy(&value, place, sizeof(value))

static PyObject *element(enum leat_element dtype, const char *place) {
    switch (dtype) {
    case LEAT_BOOL:
        return PyBool_FromLong(*place);
    case LEAT_UINT8:
        return PyLong_FromUnsignedLong((uint8_t)*place);
    case LEAT_UINT16: {
        READ(uint16_t);
        return PyLong_FromUnsignedLong(value);
    }
    case LEAT_INT8:
        return PyLong_FromLong((int8_t)*place);
    case LEAT_INT16: {
        READ(int16_t);
        return PyLong_FromLong(value);
    }
    case LEAT_INT32: {
        READ(int32_t);
        return PyLong_FromLong(value);
    }
    case LEAT_INT64: {
        READ(int64_t);
        return PyLong_FromLongLong(value);
    }
    case LEAT_FLOAT16: {
        READ(uint16_t);
        return PyFloat_FromDouble(half_to_double(value));
    }
    case LEAT_BFLOAT16: {
        READ(uint16_t);
        return PyFloat_FromDouble(bfloat16_to_double(value));
    }
    case LEAT_FLOAT32: {
        READ(float);
        return PyFloat_FromDouble((double)value);
    }
    case LEAT_FLOAT64: {
        READ(double);
        return PyFloat_FromDouble(value);
    }
    }
    PyErr_SetString(PyExc_BufferError, "an element type that is not known");
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

    (void)args;
    return leat_py_tensor_check(self) < 0 ? NULL : list(self, 0, self->data);
}
