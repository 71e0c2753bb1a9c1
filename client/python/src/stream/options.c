/* options.c: see options.h. A table of the members says how each is read. */
#include "client/python/src/stream/options.h"

#include <errno.h>
#include <stddef.h>

#include "client/python/src/raise.h"

#define DIGEST_BYTES 32

enum kind { DELIVERY, U32, U64, SEED, I32, BOOL, TEXT, DIGEST, CALLABLE };

#define MEMBER(name, kind)                                                                         \
    { #name, kind, offsetof(struct leat_open_options, name) }

static const struct member {
    const char *name;
    enum kind kind;
    size_t offset;
} members[] = {
    MEMBER(delivery, DELIVERY),
    MEMBER(rank, U32),
    MEMBER(world_size, U32),
    MEMBER(window, U32),
    MEMBER(first_epoch, U64),
    MEMBER(first_step, U64),
    MEMBER(n_epochs, U64),
    MEMBER(n_steps, U64),
    MEMBER(seed, SEED),
    MEMBER(client_name, TEXT),
    MEMBER(expect_digest, DIGEST),
    MEMBER(open_timeout_ms, I32),
    MEMBER(reconnect_timeout_ms, I32),
    MEMBER(position, TEXT),
    MEMBER(accept_changes, BOOL),
    MEMBER(private_writes, BOOL),
    MEMBER(split, TEXT),
    MEMBER(shuffle, I32),
    {"reconnect", CALLABLE, 0},
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static int wrong(const char *name, const char *wanted, PyObject *value) {
    PyObject *shown = PyObject_Repr(value);
    const char *text = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;

    if (text)
        leat_py_raise_text(-EINVAL, "options: %s is %.80s, but it must be %s", name, text, wanted);
    Py_XDECREF(shown);
    return -1;
}

static int read_u64(const char *name, PyObject *value, uint64_t most, uint64_t *ret) {
    PyObject *number = PyBool_Check(value) ? NULL : PyNumber_Index(value);

    *ret = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (number && !PyErr_Occurred() && *ret <= most)
        return 0;
    PyErr_Clear();
    return wrong(name,
                 most == UINT32_MAX ? "an integer in 0..4294967295"
                                    : "an integer in 0..18446744073709551615",
                 value);
}

static int read_i32(const char *name, PyObject *value, int32_t *ret) {
    PyObject *number = PyBool_Check(value) ? NULL : PyNumber_Index(value);
    long long n = number ? PyLong_AsLongLong(number) : 0;

    Py_XDECREF(number);
    *ret = (int32_t)n;
    if (number && !PyErr_Occurred() && n >= INT32_MIN && n <= INT32_MAX)
        return 0;
    PyErr_Clear();
    return wrong(name, "an integer that fits in 32 bits", value);
}

static int read_text(const char *name, PyObject *value, const char **ret) {
    Py_ssize_t n_bytes = 0;
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &n_bytes) : NULL;

    *ret = text;
    if (text && strlen(text) == (size_t)n_bytes)
        return 0;
    PyErr_Clear();
    return wrong(name, "text without NUL characters", value);
}

static int read_delivery(PyObject *value, int32_t *ret) {
    const char *text = NULL;

    if (read_text("delivery", value, &text) < 0)
        return -1;
    if (strcmp(text, "shared") != 0 && strcmp(text, "copy") != 0)
        return wrong("delivery", "\"shared\" or \"copy\"", value);
    *ret = strcmp(text, "copy") == 0 ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    return 0;
}

static int read_digest(PyObject *value, const uint8_t **ret) {
    if (!PyBytes_Check(value) || PyBytes_Size(value) != DIGEST_BYTES)
        return wrong("expect_digest", "32 bytes", value);
    *ret = (const uint8_t *)PyBytes_AsString(value);
    return 0;
}

static int read_bool(const char *name, PyObject *value, bool *ret) {
    if (!PyBool_Check(value))
        return wrong(name, "True or False", value);
    *ret = value == Py_True;
    return 0;
}

static int read_member(const struct member *member, PyObject *value,
                       struct leat_open_options *options, PyObject **ret_reconnect) {
    void *place = (char *)options + member->offset;
    uint64_t number = 0;
    int r = 0;

    switch (member->kind) {
    case DELIVERY:
        return read_delivery(value, place);
    case U32:
        r = read_u64(member->name, value, UINT32_MAX, &number);
        *(uint32_t *)place = (uint32_t)number;
        return r;
    case SEED:
        options->has_seed = true;
        return read_u64(member->name, value, UINT64_MAX, place);
    case U64:
        return read_u64(member->name, value, UINT64_MAX, place);
    case I32:
        return read_i32(member->name, value, place);
    case BOOL:
        return read_bool(member->name, value, place);
    case TEXT:
        return read_text(member->name, value, place);
    case DIGEST:
        return read_digest(value, place);
    case CALLABLE:
        *ret_reconnect = value;
        return PyCallable_Check(value) ? 0 : wrong(member->name, "callable", value);
    }
    return 0;
}

static int read_item(PyObject *key, PyObject *value, struct leat_open_options *options,
                     PyObject **ret_reconnect) {
    if (PyUnicode_Check(key))
        for (size_t i = 0; i < N_MEMBERS; i++)
            if (PyUnicode_CompareWithASCIIString(key, members[i].name) == 0)
                return value == Py_None ? 0
                                        : read_member(&members[i], value, options, ret_reconnect);
    return wrong("the name of an option",
                 "one of delivery, rank, world_size, window, first_epoch, first_step, n_epochs, "
                 "n_steps, seed, client_name, expect_digest, open_timeout_ms, "
                 "reconnect_timeout_ms, position, accept_changes, "
                 "private_writes, split, shuffle, reconnect",
                 key);
}

int leat_py_options_read(PyObject *options, struct leat_open_options *ret_options,
                         PyObject **ret_reconnect) {
    PyObject *key = NULL, *value = NULL;
    Py_ssize_t place = 0;

    leat_open_options_init(ret_options);
    ret_options->private_writes = true;
    *ret_reconnect = NULL;
    if (!options || options == Py_None)
        return 0;
    if (!PyDict_Check(options)) {
        PyErr_SetString(PyExc_TypeError, "options must be a dict");
        return -1;
    }
    while (PyDict_Next(options, &place, &key, &value))
        if (read_item(key, value, ret_options, ret_reconnect) < 0)
            return -1;
    return 0;
}
