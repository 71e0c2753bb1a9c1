/* save_npz.c: a batch as .npz: a ZIP archive of NAME.npy, as numpy.savez writes it (NumPy, "NPY
 * format", version 1.0).
 *
 * NumPy has no bfloat16. Such a tensor gets the type that numpy.savez gives to arrays of ml_dtypes
 * (JAX's): "<V2", two bytes without a meaning, which cannot be mistaken for numbers and which
 * `.view(ml_dtypes.bfloat16)` turns into the right type. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/save/save.h"
#include "client/save/zip.h"

#define MAGIC      "\x93NUMPY\x01\x00" /* the terminating 0 is the second byte of the version */
#define N_MAGIC    8
#define ALIGNMENT  64
#define MAX_HEADER 256

static const char *const descriptions[] = {
    [LEAT_BOOL] = "|b1",    [LEAT_UINT8] = "|u1",   [LEAT_UINT16] = "<u2",   [LEAT_INT32] = "<i4",
    [LEAT_INT64] = "<i8",   [LEAT_FLOAT16] = "<f2", [LEAT_BFLOAT16] = "<V2", [LEAT_FLOAT32] = "<f4",
    [LEAT_FLOAT64] = "<f8", [LEAT_INT8] = "|i1",    [LEAT_INT16] = "<i2",
};

/* Writes a Python dictionary, padded so that the array begins at a multiple of 64. Returns its
 * size. */
static size_t make_header(const struct leat_tensor *tensor, char ret_header[MAX_HEADER]) {
    char *text = ret_header + N_MAGIC + 2;
    size_t room = MAX_HEADER - N_MAGIC - 2, n, total;

    n = (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                         descriptions[tensor->dtype]);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        n += (size_t)snprintf(text + n, room - n, "%s%" PRIu64, d ? ", " : "", tensor->shape[d]);
    n += (size_t)snprintf(text + n, room - n, "%s), }", tensor->ndim == 1 ? "," : "");
    total = (N_MAGIC + 2 + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + n, ' ', total - N_MAGIC - 2 - n);
    ret_header[total - 1] = '\n';
    memcpy(ret_header, MAGIC, N_MAGIC);
    n = total - N_MAGIC - 2;
    ret_header[N_MAGIC] = (char)(n & 0xff);
    ret_header[N_MAGIC + 1] = (char)(n >> 8);
    return total;
}

/* Programs that unpack archives take the name for a path, which must not leave their folder; and
 * numpy.load() takes "x.npy" for the name of x's file. */
static int check_name(const char *name, struct leat_error *err) {
    size_t n = strlen(name);
    bool is_outside = name[0] == '/' || strchr(name, '\\') || strcmp(name, "..") == 0 ||
                      strncmp(name, "../", 3) == 0 || strstr(name, "/../");

    if (is_outside || (n >= 3 && strcmp(name + n - 3, "/..") == 0))
        return leat_error_set(
            err, -EINVAL,
            ".npz uses the names of tensors as paths, but \"%s\" is not a safe path: give the "
            "tensor another name with the stage `rename`, or save safetensors",
            name);
    if (n >= 4 && strcmp(name + n - 4, ".npy") == 0)
        return leat_error_set(
            err, -EINVAL,
            "the name of the tensor \"%s\" ends in .npy, which NumPy removes: give the tensor "
            "another name with the stage `rename`, or save safetensors",
            name);
    return 0;
}

static int add_tensor(struct leat_zip *zip, const struct leat_tensor *tensor,
                      struct leat_error *err) {
    char name[LEAT_ZIP_NAME_MAX], header[MAX_HEADER];
    int r = check_name(tensor->name, err);

    if (r < 0)
        return r;
    (void)snprintf(name, sizeof(name), "%s.npy", tensor->name);
    return leat_zip_add(zip, name, header, make_header(tensor, header), tensor->data,
                        tensor->size_bytes, err);
}

int leat_save_npz(const struct leat_saving *saving, struct leat_saved_file *file,
                  struct leat_error *err) {
    const struct leat_view *view = saving->view;
    struct leat_zip *zip = malloc(sizeof(*zip));
    int r = 0;

    if (!zip)
        return leat_error_oom(err);
    leat_zip_init(zip, file, saving->compression);
    for (size_t i = 0; r == 0 && i < view->header.n_tensors; i++)
        r = add_tensor(zip, &view->tensors[i], err);
    if (r == 0)
        leat_zip_finish(zip);
    free(zip);
    return r;
}
