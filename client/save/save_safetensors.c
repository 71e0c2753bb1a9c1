/* save_safetensors.c: a batch as safetensors (huggingface/safetensors, README, "Format"): the
 * length of a header as u64, the header in JSON, the tensors' bytes without gaps.
 *
 * The header is padded with blanks to a multiple of 8, and tensors with larger elements come first,
 * so that every tensor is aligned to its elements. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/save/json_name.h"
#include "client/save/save.h"
#include "proto/base/dtype.h"

#define METADATA     "__metadata__"
#define ALIGNMENT    8
#define MAX_TENSOR   (LEAT_JSON_NAME_MAX + 256) /* bytes of JSON */
#define MAX_ELEMENT  8
#define MAX_METADATA 160

/* A header under construction. */
struct header {
    char text[MAX_METADATA + LEAT_SLOT_MAX_TENSORS * MAX_TENSOR + ALIGNMENT];
    size_t n_bytes;
};

static const char *const names[] = {
    [LEAT_BOOL] = "BOOL",     [LEAT_UINT8] = "U8",    [LEAT_UINT16] = "U16",
    [LEAT_INT32] = "I32",     [LEAT_INT64] = "I64",   [LEAT_FLOAT16] = "F16",
    [LEAT_BFLOAT16] = "BF16", [LEAT_FLOAT32] = "F32", [LEAT_FLOAT64] = "F64",
    [LEAT_INT8] = "I8",       [LEAT_INT16] = "I16",
};

static __attribute__((format(printf, 2, 3))) void add(struct header *header, const char *format,
                                                      ...) {
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(header->text + header->n_bytes, sizeof(header->text) - header->n_bytes, format,
                  ap);
    va_end(ap);
    header->n_bytes += (size_t)n; /* text[] has room for the longest header */
}

static void add_tensor(struct header *header, const struct leat_tensor *tensor, uint64_t *offset) {
    char name[LEAT_JSON_NAME_MAX];

    leat_name_json(tensor->name, name);
    add(header, ",%s:{\"dtype\":\"%s\",\"shape\":[", name, names[tensor->dtype]);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        add(header, "%s%" PRIu64, d ? "," : "", tensor->shape[d]);
    add(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", *offset,
        *offset + tensor->size_bytes);
    *offset += tensor->size_bytes;
}

static size_t element_size(const struct leat_tensor *tensor) {
    return leat_dtype_size((enum leat_dtype)tensor->dtype);
}

static void add_tensors(struct header *header, const struct leat_view *view) {
    uint64_t offset = 0;

    for (size_t size = MAX_ELEMENT; size > 0; size /= 2)
        for (size_t i = 0; i < view->header.n_tensors; i++)
            if (element_size(&view->tensors[i]) == size)
                add_tensor(header, &view->tensors[i], &offset);
}

static void write_header(struct leat_saved_file *file, struct header *header) {
    uint64_t n_bytes; /* little endian, as are all machines that leat runs on */

    while (header->n_bytes % ALIGNMENT)
        header->text[header->n_bytes++] = ' ';
    n_bytes = header->n_bytes;
    leat_saved_file_write(file, &n_bytes, sizeof(n_bytes));
    leat_saved_file_write(file, header->text, header->n_bytes);
}

int leat_save_safetensors(const struct leat_saving *saving, struct leat_saved_file *file,
                          struct leat_error *err) {
    const struct leat_view *view = saving->view;
    struct header *header;

    if (leat_view_find(view, METADATA))
        return leat_error_set(
            err, -EINVAL, "a tensor is called " METADATA ", which safetensors keeps for itself");
    header = malloc(sizeof(*header));
    if (!header)
        return leat_error_oom(err);
    header->n_bytes = 0;
    add(header,
        "{\"" METADATA "\":{\"epoch\":\"%" PRIu64 "\",\"step\":\"%" PRIu64 "\",\"rows\":\"%u\"}",
        view->header.epoch, view->header.step, view->header.n_rows);
    add_tensors(header, view);
    add(header, "}");
    write_header(file, header);
    free(header);
    for (size_t size = MAX_ELEMENT; size > 0; size /= 2)
        for (size_t i = 0; i < view->header.n_tensors; i++)
            if (element_size(&view->tensors[i]) == size)
                leat_saved_file_write(file, view->tensors[i].data, view->tensors[i].size_bytes);
    return 0;
}
