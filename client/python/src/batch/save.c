/* save.c: `_leat.save_batch`: libleat's leat_batch_save(), without the GIL.
 *
 * The slot is held meanwhile, since another thread may release the batch. libleat keeps one error
 * for each batch, so threads save the same batch in turn. Errors of the file system become
 * OSErrors.
 */
#include <Python.h>
#include <errno.h>

#include "client/python/src/raise.h"
#include "client/python/src/stream/link.h"
#include "client/python/src/types.h"

static PyObject *raise_failure(int r, struct leat_error *take_error, PyObject *path) {
    if (r == -EINVAL || r == -EILSEQ || r == -E2BIG || r == -ENOMEM) /* the batch or an argument */
        return leat_py_raise_copy(take_error);
    leat_error_free(take_error);
    errno = -r;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

static int save(struct leat_py_lease *lease, const char *path,
                const struct leat_save_options *options, struct leat_error **ret_error) {
    int r;

    leat_py_lease_hold(lease);
    Py_BEGIN_ALLOW_THREADS;
    (void)pthread_mutex_lock(&lease->saving);
    r = leat_batch_save(lease->batch, path, options);
    if (r < 0 && r != -ENOMEM) /* which leaves no error */
        *ret_error = leat_error_copy(leat_batch_error(lease->batch));
    (void)pthread_mutex_unlock(&lease->saving);
    leat_py_lease_unhold(lease);
    Py_END_ALLOW_THREADS;
    return r;
}

static PyObject *save_batch(PyObject *module, PyObject *args) {
    struct leat_save_options options;
    struct leat_error *error = NULL;
    struct leat_py_lease *lease;
    PyObject *batch, *path, *bytes = NULL;
    int r;

    leat_save_options_init(&options);
    if (!PyArg_ParseTuple(args, "OOii", &batch, &path, &options.format, &options.compression))
        return NULL;
    lease = leat_py_batch_lease(batch);
    if (!lease || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    r = save(lease, PyBytes_AsString(bytes), &options, &error);
    Py_DECREF(bytes);
    if (r < 0)
        return raise_failure(r, error, path);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"save_batch", save_batch, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int leat_py_save_register(PyObject *module) {
    if (PyModule_AddFunctions(module, methods) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_BY_NAME", LEAT_SAVE_BY_NAME) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_SAFETENSORS", LEAT_SAVE_SAFETENSORS) < 0 ||
        PyModule_AddIntConstant(module, "SAVE_NPZ", LEAT_SAVE_NPZ) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "SAVE_JSONL", LEAT_SAVE_JSONL);
}
