/* save_safetensors.c: a batch as safetensors (huggingface/safetensors, README, "Format"): the
 * length of a header as u64, the header in JSON, the tensors' bytes without gaps.
 *
 * The header is padded with blanks to a multiple of 8, and tensors with larger elements come first,
 * so that every tensor is aligned to its elements. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/save/save.h"
#include "proto/base/dtype.h"
#include "proto/base/text.h"

#define METADATA    "__metadata__"
#define ALIGNMENT   8
#define MAX_ELEMENT 8

static const char *const names[] = {
    [LEAT_BOOL] = "BOOL",     [LEAT_UINT8] = "U8",    [LEAT_UINT16] = "U16",
    [LEAT_INT32] = "I32",     [LEAT_INT64] = "I64",   [LEAT_FLOAT16] = "F16",
    [LEAT_BFLOAT16] = "BF16", [LEAT_FLOAT32] = "F32", [LEAT_FLOAT64] = "F64",
    [LEAT_INT8] = "I8",       [LEAT_INT16] = "I16",
};

static void add_tensor(struct leat_text *header, const struct leat_tensor *tensor,
                       uint64_t *offset) {
    leat_text_add(header, ",");
    leat_text_add_json(header, tensor->name, strlen(tensor->name));
    leat_text_add(header, ":{\"dtype\":\"%s\",\"shape\":[", names[tensor->dtype]);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        leat_text_add(header, "%s%" PRIu64, d ? "," : "", tensor->shape[d]);
    leat_text_add(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *offset,
                  *offset + tensor->size_bytes);
    *offset += tensor->size_bytes;
}

static size_t element_size(const struct leat_tensor *tensor) {
    return leat_dtype_size((enum leat_dtype)tensor->dtype);
}

/* Without whitespace but for the padding. */
static void make_header(struct leat_text *header, const struct leat_view *view) {
    uint64_t offset = 0;

    leat_text_add(header,
                  "{\"" METADATA "\":{\"epoch\":\"%" PRIu64 "\",\"step\":\"%" PRIu64
                  "\",\"rows\":\"%u\"}",
                  view->header.epoch, view->header.step, view->header.n_rows);
    for (size_t size = MAX_ELEMENT; size > 0; size /= 2)
        for (size_t i = 0; i < view->header.n_tensors; i++)
            if (element_size(&view->tensors[i]) == size)
                add_tensor(header, &view->tensors[i], &offset);
    leat_text_add(header, "}");
    leat_text_add(header, "%*s", (int)(-header->n_bytes % ALIGNMENT), "");
}

int leat_save_safetensors(const struct leat_saving *saving, struct leat_saved_file *file,
                          struct leat_error *err) {
    const struct leat_view *view = saving->view;
    struct leat_text header = {.data = NULL};
    uint64_t n_bytes; /* little endian, as are all machines that leat runs on */

    if (leat_view_find(view, METADATA))
        return leat_error_set(
            err, -EINVAL,
            "a tensor has the name " METADATA
            ", which safetensors reserves: give the tensor another name with the stage `rename`");
    make_header(&header, view);
    if (header.failed)
        leat_error_oom(err);
    n_bytes = header.n_bytes;
    leat_saved_file_write(file, &n_bytes, sizeof(n_bytes));
    leat_saved_file_write(file, header.data, header.n_bytes);
    free(header.data);
    for (size_t size = MAX_ELEMENT; size > 0; size /= 2)
        for (size_t i = 0; i < view->header.n_tensors; i++)
            if (element_size(&view->tensors[i]) == size)
                leat_saved_file_write(file, view->tensors[i].data, view->tensors[i].size_bytes);
    return header.failed ? -ENOMEM : 0;
}
