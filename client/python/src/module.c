/* module.c: `leat._leat`, on the limited API of Python 3.11: one binary for that and later ones.
 * `_leat.pyi` documents what it has.
 *
 * The types are static to the process and made once: subinterpreters cannot use the module.
 */
#include <errno.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"

static int (*const registers[])(PyObject *module) = {
#define LEAT_PY_PART(name) leat_py_##name##_register,
#include "client/python/src/parts.h"
#undef LEAT_PY_PART
};

PyTypeObject *leat_py_type_add(PyObject *module, const char *name, size_t object_bytes,
                               unsigned int flags, PyType_Slot *slots) {
    PyType_Spec spec = {.name = name,
                        .basicsize = (int)object_bytes,
                        .flags = Py_TPFLAGS_DEFAULT | flags,
                        .slots = slots};
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpec(&spec);

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

static PyObject *position_parse(PyObject *module, PyObject *text) {
    const char *position = PyUnicode_AsUTF8AndSize(text, NULL);
    uint64_t epoch, step, seed;
    uint32_t world_size;

    if (!position)
        return NULL;
    if (leat_position_parse(position, &epoch, &step, &seed, &world_size) < 0)
        return leat_py_raise_text(
            -EINVAL, "\"%.80s\" is not a position; a position begins with \"leat1:\"", position);
    return Py_BuildValue("KKKI", epoch, step, seed, world_size);
}

static PyObject *check_interpreter(PyObject *module, PyObject *args) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ImportError,
                    "leat works only in the main interpreter: use processes, not subinterpreters");
    return NULL;
}

static PyMethodDef methods[] = {
    {"check_interpreter", check_interpreter, METH_NOARGS, NULL},
    {"position_parse", position_parse, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "leat._leat",
    .m_doc = "libleat and libleat-tokenizer for Python.",
    .m_size = -1,
    .m_methods = methods,
};

static int fill(PyObject *module) {
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
        if (registers[i](module) < 0)
            return -1;
    if (PyModule_AddIntConstant(module, "END_EPOCH", LEAT_END_EPOCH) < 0 ||
        PyModule_AddIntConstant(module, "END", LEAT_END) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "NO_RECONNECT", LEAT_NO_RECONNECT);
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
