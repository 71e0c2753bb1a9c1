/* module.c: `leat._leat`, on the limited API of Python 3.11: one binary for that and what follows.
 *
 * The types are static to the process, and made once: the module is not for subinterpreters.
 */
#include <errno.h>

#include "client/python/src/fork.h"
#include "client/python/src/raise.h"
#include "client/python/src/types.h"

#define LEAT_PY_PART(name) int leat_py_##name##_register(PyObject *module);
#include "client/python/src/parts.h"
#undef LEAT_PY_PART

static int (*const registers[])(PyObject *module) = {
#define LEAT_PY_PART(name) leat_py_##name##_register,
#include "client/python/src/parts.h"
#undef LEAT_PY_PART
};

PyTypeObject *leat_py_type_add(PyObject *module, PyType_Spec *spec) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(spec);

    if (type && PyModule_AddType(module, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

void leat_py_object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(self);
    Py_DECREF(type);
}

static PyObject *version(PyObject *module, PyObject *args) {
    (void)module;
    (void)args;
    return PyUnicode_FromString(leat_version());
}

static PyObject *position_parse(PyObject *module, PyObject *text) {
    const char *position = PyUnicode_AsUTF8AndSize(text, NULL);
    uint64_t epoch, step, seed;
    uint32_t world_size;

    (void)module;
    if (!position)
        return NULL;
    if (leat_position_parse(position, &epoch, &step, &seed, &world_size) < 0)
        return leat_py_raise_text(-EINVAL, "\"%.80s\" is no position of a stream", position);
    return Py_BuildValue("KKKI", epoch, step, seed, world_size);
}

static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, PyDoc_STR("version()\n--\n\nOf libleat.")},
    {"position_parse", position_parse, METH_O,
     PyDoc_STR("position_parse(text, /)\n--\n\n(epoch, step, seed, world_size) of a position.")},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "leat._leat",
    .m_doc = "libleat and libleat-tokenizer as Python sees them.",
    .m_size = -1,
    .m_methods = methods,
};

static int fill(PyObject *module) {
    int r = leat_py_fork_register();

    if (r != 0) {
        errno = r;
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
        if (registers[i](module) < 0)
            return -1;
    if (PyModule_AddIntConstant(module, "END_EPOCH", LEAT_END_EPOCH) < 0 ||
        PyModule_AddIntConstant(module, "END", LEAT_END) < 0 ||
        PyModule_AddIntConstant(module, "NO_RECONNECT", LEAT_NO_RECONNECT) < 0)
        return -1;
    return 0;
}

PyMODINIT_FUNC PyInit__leat(void);

PyMODINIT_FUNC PyInit__leat(void) {
    PyObject *module = PyModule_Create(&definition);

    if (module && fill(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
