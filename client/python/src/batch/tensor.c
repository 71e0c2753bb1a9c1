/* tensor.c: see tensor.h. A tensor owns its description, which stays readable. Its data lies in the
 * slot until the batch is released; a buffer keeps the slot longer.
 */
#include "client/python/src/batch/tensor.h"

#include <errno.h>
#include <structmember.h>
#include <unistd.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"

PyTypeObject *leat_py_tensor_type;

/* The buffer protocol's format of a type (as in the module struct), and its size. */
static const struct element {
    const char *format; /* NULL: it has none */
    Py_ssize_t n_bytes;
} elements[] = {
    [LEAT_BOOL] = {"?", 1},      [LEAT_UINT8] = {"B", 1},   [LEAT_UINT16] = {"H", 2},
    [LEAT_INT32] = {"i", 4},     [LEAT_INT64] = {"l", 8},   [LEAT_FLOAT16] = {"e", 2},
    [LEAT_BFLOAT16] = {NULL, 2}, [LEAT_FLOAT32] = {"f", 4}, [LEAT_FLOAT64] = {"d", 8},
    [LEAT_INT8] = {"b", 1},      [LEAT_INT16] = {"h", 2},
};

_Static_assert(sizeof(long) == 8, "\"l\" is int64");

/* The address of the same bytes in the read-only mapping. */
static const void *shared_of(const struct leat_batch *batch, const void *data) {
    const struct leat_ring *ring = leat_batch_ring(batch);

    if (!ring || (uintptr_t)data - (uintptr_t)ring->memory >= ring->size_bytes)
        return data;
    return (const char *)ring->shared + ((const char *)data - (const char *)ring->memory);
}

PyObject *leat_py_tensor_new(struct leat_py_lease *lease, const struct leat_tensor *tensor,
                             PyObject *name) {
    struct leat_py_tensor *self =
        (struct leat_py_tensor *)PyType_GenericAlloc(leat_py_tensor_type, 0);

    if (!self)
        return NULL;
    leat_py_lease_own(lease);
    self->lease = lease;
    self->name = Py_NewRef(name);
    self->dtype_name = tensor->dtype_name;
    self->dtype = (enum leat_element)tensor->dtype;
    self->ndim = (int)tensor->ndim;
    for (uint32_t d = 0; d < tensor->ndim; d++) {
        self->shape[d] = (Py_ssize_t)tensor->shape[d];
        self->strides[d] = (Py_ssize_t)tensor->strides[d];
    }
    self->item_bytes = elements[tensor->dtype].n_bytes;
    self->n_bytes = (Py_ssize_t)tensor->size_bytes;
    self->data = tensor->data;
    self->shared = shared_of(lease->batch, tensor->data);
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *object) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;

    if (self->lease)
        leat_py_lease_disown(self->lease);
    Py_XDECREF(self->name);
    leat_py_object_free(object);
}

int leat_py_tensor_check(const struct leat_py_tensor *self) {
    if (self->lease->is_ended) {
        PyErr_Format(PyExc_ValueError, "%U: you have already released its batch", self->name);
        return -1;
    }
    if (self->lease->link->pid != getpid()) {
        leat_py_raise_text(-EPERM,
                           "this batch belongs to process %d, which called fork(): open the stream "
                           "again in the child process",
                           (int)self->lease->link->pid);
        return -1;
    }
    return 0;
}

/* ---- buffers ---- */

static int refuse(Py_buffer *view, const char *format, PyObject *name) {
    view->obj = NULL;
    PyErr_Format(PyExc_BufferError, format, name);
    return -1;
}

static int tensor_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;
    const char *format = elements[self->dtype].format;

    if (leat_py_tensor_check(self) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (flags & PyBUF_WRITABLE)
        return refuse(view, "%U is read-only", self->name);
    if (!format && (flags & PyBUF_FORMAT))
        return refuse(view,
                      "%U is bfloat16, which Python's buffer protocol does not know: use DLPack",
                      self->name);
    *view = (Py_buffer){
        .buf = (void *)(uintptr_t)self->data,
        .obj = Py_NewRef(object),
        .len = self->n_bytes,
        .itemsize = self->item_bytes,
        .readonly = 1,
        .ndim = self->ndim,
        .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
        .shape = flags & PyBUF_ND ? self->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL,
    };
    leat_py_lease_hold(self->lease);
    return 0;
}

static void tensor_releasebuffer(PyObject *object, Py_buffer *view) {
    (void)view;
    leat_py_lease_unhold(((struct leat_py_tensor *)object)->lease);
}

/* ---- attributes ---- */

static PyObject *tuple_of(const Py_ssize_t *numbers, int n) {
    PyObject *tuple = PyTuple_New(n);

    for (int i = 0; tuple && i < n; i++)
        (void)PyTuple_SetItem(tuple, i, PyLong_FromSsize_t(numbers[i]));
    return tuple;
}

static PyObject *tensor_shape(PyObject *object, void *closure) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;

    return tuple_of(self->shape, self->ndim);
}

static PyObject *tensor_strides(PyObject *object, void *closure) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;

    return tuple_of(self->strides, self->ndim);
}

static PyObject *tensor_data_ptr(PyObject *object, void *closure) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;
    const void *address = closure ? self->shared : self->data;

    if (leat_py_tensor_check(self) < 0)
        return NULL;
    return PyLong_FromVoidPtr((void *)(uintptr_t)address);
}

static Py_ssize_t tensor_length(PyObject *object) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;

    if (self->ndim > 0)
        return self->shape[0];
    PyErr_SetString(PyExc_TypeError, "a tensor without dimensions has no length");
    return -1;
}

static PyObject *tensor_repr(PyObject *object) {
    struct leat_py_tensor *self = (struct leat_py_tensor *)object;
    PyObject *shape = tuple_of(self->shape, self->ndim);
    PyObject *text = NULL;

    if (shape)
        text = PyUnicode_FromFormat("<leat.Tensor %U: %s %R%s>", self->name, self->dtype_name,
                                    shape, self->lease->is_ended ? ", released" : "");
    Py_XDECREF(shape);
    return text;
}

/* ---- conversions ---- */

/* Calls the function `name` of leat.frameworks with the tensor. */
static PyObject *convert(PyObject *object, const char *name, PyObject *kwargs) {
    PyObject *module = PyImport_ImportModule("leat.frameworks");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *args = PyTuple_Pack(1, object), *array = NULL;

    if (function && args && leat_py_tensor_check((struct leat_py_tensor *)object) == 0)
        array = PyObject_Call(function, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return array;
}

/* Makes an array of NumPy, which looks into the slot and holds it. */
static PyObject *array_of(PyObject *object, PyObject *kwargs) {
    return convert(object, "array_of", kwargs);
}

/* Without this JAX would take `dtype`, which is a text here, for its own. */
static PyObject *tensor_jax_array(PyObject *object, PyObject *args) {
    return convert(object, "jax_array_of", NULL);
}

static PyObject *tensor_numpy(PyObject *object, PyObject *args) {
    return array_of(object, NULL);
}

static PyObject *tensor_array(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None, *options, *array;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &dtype, &copy))
        return NULL;
    options = Py_BuildValue("{sOsO}", "dtype", dtype, "copy", copy);
    array = options ? array_of(object, options) : NULL;
    Py_XDECREF(options);
    return array;
}

static PyObject *tensor_reduce(PyObject *object, PyObject *args) {
    PyErr_SetString(PyExc_TypeError,
                    "cannot pickle or copy a tensor, because its memory belongs to the stream: "
                    "take tensor.numpy().copy(), or batch.to(..)");
    return NULL;
}

static PyObject *tensor_subscript(PyObject *object, PyObject *key) {
    PyObject *array = array_of(object, NULL);
    PyObject *item = array ? PyObject_GetItem(array, key) : NULL;

    Py_XDECREF(array);
    return item;
}

static PyObject *tensor_iterate(PyObject *object) {
    PyObject *array = array_of(object, NULL);
    PyObject *iterator = array ? PyObject_GetIter(array) : NULL;

    Py_XDECREF(array);
    return iterator;
}

/* Python 3.11 knows no halves in buffers, and no version knows bfloat16. */
static PyObject *tensor_tolist(PyObject *object, PyObject *args) {
    const struct leat_py_tensor *self = (const struct leat_py_tensor *)object;
    PyObject *view, *list;

    if (self->dtype == LEAT_FLOAT16 || self->dtype == LEAT_BFLOAT16)
        return convert(object, "list_of_halves", NULL);
    view = PyMemoryView_FromObject(object);
    list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    Py_XDECREF(view);
    return list;
}

static PyMethodDef methods[] = {
    {"__dlpack__", LEAT_PY_KEYWORDS(leat_py_tensor_dlpack),
     PyDoc_STR("__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n"
               "--\n"
               "\n"
               "Returns a DLPack capsule, as in the array API. It is versioned if max_version is "
               "(1, 0) or\n"
               "more. If you write through it, only this process sees the change, and only until "
               "the slot goes back to the daemon.")},
    {"__dlpack_device__", leat_py_tensor_dlpack_device, METH_NOARGS,
     PyDoc_STR("__dlpack_device__($self)\n--\n\nReturns (1, 0), which means the CPU.")},
    {"__array__", LEAT_PY_KEYWORDS(tensor_array), NULL},
    {"__jax_array__", tensor_jax_array, METH_NOARGS, NULL},
    {"__reduce__", tensor_reduce, METH_NOARGS, NULL},
    {"numpy", tensor_numpy, METH_NOARGS,
     PyDoc_STR(
         "numpy($self)\n"
         "--\n"
         "\n"
         "Returns a read-only NumPy array that views the slot. For bfloat16 it returns a copy.")},
    {"tolist", tensor_tolist, METH_NOARGS,
     PyDoc_STR("tolist($self)\n"
               "--\n"
               "\n"
               "Returns the elements as nested lists of numbers.")},
    {NULL, NULL, 0, NULL},
};

#define MEMBER(name, type, member, text)                                                           \
    { name, type, offsetof(struct leat_py_tensor, member), READONLY, PyDoc_STR(text) }

static PyMemberDef members[] = {
    MEMBER("name", T_OBJECT_EX, name, "Name of the tensor in its batch."),
    MEMBER("dtype", T_STRING, dtype_name, "\"int32\""),
    MEMBER("ndim", T_INT, ndim, "Number of dimensions."),
    MEMBER("nbytes", T_PYSSIZET, n_bytes, "Size of all elements, in bytes."),
    MEMBER("itemsize", T_PYSSIZET, item_bytes, "Size of one element, in bytes."),
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"shape", tensor_shape, NULL, PyDoc_STR("Number of elements in each dimension."), NULL},
    {"strides", tensor_strides, NULL,
     PyDoc_STR(
         "Bytes from one element to the next in each dimension. Elements are in row-major order, "
         "without gaps."),
     NULL},
    {"data_ptr", tensor_data_ptr, NULL, PyDoc_STR("Address of the memory that the tensor exports."),
     NULL},
    {"shared_ptr", tensor_data_ptr, NULL,
     PyDoc_STR("Address of the same bytes in the read-only shared memory."), (void *)1},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t) "A row-major array in the slot of its batch. It supports the "
                                    "buffer protocol (read-only, any\n"
                                    "dtype except bfloat16) and DLPack."},
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {Py_sq_length, tensor_length},
    {Py_mp_subscript, tensor_subscript},
    {Py_tp_iter, tensor_iterate},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_bf_releasebuffer, tensor_releasebuffer},
    {0, NULL},
};

int leat_py_tensor_register(PyObject *module) {
    leat_py_tensor_type =
        leat_py_type_add(module, "leat._leat.Tensor", sizeof(struct leat_py_tensor),
                         Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return leat_py_tensor_type ? 0 : -1;
}
