/* spec.c: see spec.h. Values go to the builder one by one; the daemon checks their meaning. The
 * builder limits the depth, and so the recursion here.
 */
#include "client/python/src/stream/spec.h"

#include <errno.h>
#include <stdio.h>

#include "client/python/src/raise.h"

/* The place of a value, for messages: "stages[3].shuffle". */
struct place {
    const char *part; /* "stages" */
    Py_ssize_t index; /* -1: none */
    const char *kind;
};

static int wrong(const struct place *place, const char *what) {
    char index[32] = "", path[192];

    PyErr_Clear();
    if (place->index >= 0)
        (void)snprintf(index, sizeof(index), "[%zd]", place->index);
    (void)snprintf(path, sizeof(path), "%s%s%s%s", place->part, index, place->kind ? "." : "",
                   place->kind ? place->kind : "");
    leat_py_raise_at(-EINVAL, path, what);
    return -1;
}

/* The bytes of a text, which belong to the object. NULL: it is no text, or has a NUL. */
static const char *text_of(PyObject *object) {
    Py_ssize_t n_bytes = 0;
    const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &n_bytes) : NULL;

    return text && strlen(text) == (size_t)n_bytes ? text : NULL;
}

static int add_value(struct leat_builder *builder, const char *name, PyObject *value,
                     const struct place *place);

static int add_items(struct leat_builder *builder, PyObject *map, const struct place *place) {
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    int r = 0;

    while (r == 0 && PyDict_Next(map, &at, &key, &value)) {
        Py_INCREF(key); /* code of a list in the value may change the dict */
        Py_INCREF(value);
        if (!text_of(key))
            r = wrong(place, "the name of an argument must be text without NUL characters");
        else if (value != Py_None)
            r = add_value(builder, text_of(key), value, place);
        Py_DECREF(key);
        Py_DECREF(value);
    }
    return r;
}

static int add_list(struct leat_builder *builder, const char *name, PyObject *list,
                    const struct place *place) {
    Py_ssize_t n = PySequence_Size(list);
    int r = leat_builder_list(builder, name) < 0 ? 0 : 1; /* the opening reports its failure */

    for (Py_ssize_t i = 0; r == 1 && i < n; i++) {
        PyObject *item = PySequence_GetItem(list, i);

        if (!item || add_value(builder, NULL, item, place) < 0)
            r = -1;
        Py_XDECREF(item);
    }
    if (r == 1)
        (void)leat_builder_end(builder);
    return r < 0 ? -1 : 0;
}

static int add_map(struct leat_builder *builder, const char *name, PyObject *map,
                   const struct place *place) {
    if (leat_builder_map(builder, name) < 0)
        return 0;
    if (add_items(builder, map, place) < 0)
        return -1;
    (void)leat_builder_end(builder);
    return 0;
}

static int add_int(struct leat_builder *builder, const char *name, PyObject *number,
                   const struct place *place) {
    long long n = PyLong_AsLongLong(number);

    if (n == -1 && PyErr_Occurred())
        return wrong(place, "an integer does not fit into 64 bits");
    (void)leat_builder_int(builder, name, n);
    return 0;
}

static int add_value(struct leat_builder *builder, const char *name, PyObject *value,
                     const struct place *place) {
    const char *text = text_of(value);

    PyErr_Clear();
    if (text)
        (void)leat_builder_text(builder, name, text);
    else if (PyBool_Check(value))
        (void)leat_builder_bool(builder, name, value == Py_True);
    else if (PyLong_Check(value))
        return add_int(builder, name, value, place);
    else if (PyFloat_Check(value))
        (void)leat_builder_float(builder, name, PyFloat_AsDouble(value));
    else if (PyDict_Check(value))
        return add_map(builder, name, value, place);
    else if (PyList_Check(value) || PyTuple_Check(value))
        return add_list(builder, name, value, place);
    else if (PyUnicode_Check(value))
        return wrong(place, "text must be valid UTF-8 without NUL characters");
    else
        return wrong(place, "a value must be a str, a bool, an int, a float, a list or a dict");
    return 0;
}

/* Adds a pair of kind and arguments. */
static int add_step(struct leat_builder *builder, PyObject *pair, struct place place,
                    int (*begin)(struct leat_builder *builder, const char *kind)) {
    PyObject *kind = NULL, *args = NULL;
    int r = -1;

    if (PySequence_Check(pair) && PySequence_Size(pair) == 2) {
        kind = PySequence_GetItem(pair, 0);
        args = PySequence_GetItem(pair, 1);
    }
    place.kind = kind ? text_of(kind) : NULL;
    if (!place.kind || !args || !PyDict_Check(args)) {
        r = wrong(&place, "expected [kind, {argument: value}]");
    } else {
        (void)begin(builder, place.kind);
        r = add_items(builder, args, &place);
    }
    Py_XDECREF(kind);
    Py_XDECREF(args);
    return r;
}

static int add_stages(struct leat_builder *builder, PyObject *stages) {
    struct place place = {.part = "stages", .index = -1};
    int r = 0;

    if (!PyList_Check(stages) && !PyTuple_Check(stages))
        return wrong(&place, "expected a list");
    for (Py_ssize_t i = 0, n = PySequence_Size(stages); r == 0 && i < n; i++) {
        PyObject *stage = PySequence_GetItem(stages, i);

        place.index = i;
        r = stage ? add_step(builder, stage, place, leat_builder_stage) : -1;
        Py_XDECREF(stage);
    }
    return r;
}

static int add_options(struct leat_builder *builder, PyObject *options) {
    struct place place = {.part = "options", .index = -1};

    if (!PyDict_Check(options))
        return wrong(&place, "expected a dict");
    (void)leat_builder_options(builder);
    return add_items(builder, options, &place);
}

static int build(struct leat_builder *builder, PyObject *source, PyObject *stages,
                 PyObject *options) {
    struct place place = {.part = "source", .index = -1};

    if (!source)
        return wrong(&place, "it is missing");
    if (add_step(builder, source, place, leat_builder_source) < 0 ||
        (stages && add_stages(builder, stages) < 0) ||
        (options && add_options(builder, options) < 0))
        return -1;
    return 0;
}

/* Returns a new reference; NULL: the part is missing, or None. */
static PyObject *part(PyObject *spec, const char *name) {
    PyObject *value = PyDict_GetItemString(spec, name);

    return value == Py_None ? NULL : Py_XNewRef(value);
}

int leat_py_spec_build(PyObject *spec, struct leat_builder **ret_builder) {
    struct leat_builder *builder = NULL;
    PyObject *parts[3], *name;
    int r;

    if (!PyDict_Check(spec)) {
        PyErr_SetString(PyExc_TypeError, "spec must be a dict");
        return -1;
    }
    name = PyDict_GetItemString(spec, "name");
    if (name && !text_of(name)) {
        PyErr_Clear();
        leat_py_raise_text(-EINVAL, "name must be text without NUL characters");
        return -1;
    }
    if (leat_builder_new(name ? text_of(name) : "python", &builder) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    parts[0] = part(spec, "source");
    parts[1] = part(spec, "stages");
    parts[2] = part(spec, "options");
    r = build(builder, parts[0], parts[1], parts[2]);
    for (size_t i = 0; i < 3; i++)
        Py_XDECREF(parts[i]);
    if (r < 0)
        leat_builder_free(builder);
    else
        *ret_builder = builder;
    return r;
}
