#include "client/transport/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/dtype.h"

_Static_assert((int)LEAT_BOOL == (int)LEAT_DTYPE_BOOL, "element");
_Static_assert((int)LEAT_UINT8 == (int)LEAT_DTYPE_UINT8, "element");
_Static_assert((int)LEAT_UINT16 == (int)LEAT_DTYPE_UINT16, "element");
_Static_assert((int)LEAT_INT32 == (int)LEAT_DTYPE_INT32, "element");
_Static_assert((int)LEAT_INT64 == (int)LEAT_DTYPE_INT64, "element");
_Static_assert((int)LEAT_FLOAT16 == (int)LEAT_DTYPE_FLOAT16, "element");
_Static_assert((int)LEAT_BFLOAT16 == (int)LEAT_DTYPE_BFLOAT16, "element");
_Static_assert((int)LEAT_FLOAT32 == (int)LEAT_DTYPE_FLOAT32, "element");
_Static_assert((int)LEAT_FLOAT64 == (int)LEAT_DTYPE_FLOAT64, "element");
_Static_assert((int)LEAT_INT8 == (int)LEAT_DTYPE_INT8, "element");
_Static_assert((int)LEAT_INT16 == (int)LEAT_DTYPE_INT16, "element");
_Static_assert(LEAT_MAX_NDIM == LEAT_TENSOR_MAX_NDIM, "dimensions");

/* The copied header and descriptors in one piece, for leat_slot_check(). */
struct head {
    struct leat_slot_header header;
    struct leat_slot_tensor descriptors[LEAT_SLOT_MAX_TENSORS];
};

static int reserve_tensors(struct leat_view *view, size_t n_tensors) {
    struct leat_slot_tensor *descriptors;
    struct leat_tensor *tensors;

    if (n_tensors <= view->capacity)
        return 0;
    descriptors = reallocarray(view->descriptors, n_tensors, sizeof(*descriptors));
    if (!descriptors)
        return -ENOMEM;
    view->descriptors = descriptors;
    tensors = reallocarray(view->tensors, n_tensors, sizeof(*tensors));
    if (!tensors)
        return -ENOMEM;
    view->tensors = tensors;
    view->capacity = n_tensors;
    return 0;
}

static void fill_tensor(struct leat_tensor *tensor, const struct leat_slot_tensor *descriptor,
                        const void *slot) {
    enum leat_dtype dtype = (enum leat_dtype)descriptor->dtype;
    uint64_t stride = leat_dtype_size(dtype);

    *tensor = (struct leat_tensor){
        .name = descriptor->name,
        .dtype_name = leat_dtype_name(dtype),
        .dtype = descriptor->dtype,
        .ndim = descriptor->ndim,
        .data = (const uint8_t *)slot + descriptor->offset,
        .size_bytes = descriptor->size_bytes,
    };
    for (uint32_t d = descriptor->ndim; d-- > 0;) {
        tensor->shape[d] = descriptor->shape[d];
        tensor->strides[d] = stride;
        stride *= descriptor->shape[d];
    }
}

int leat_view_read(struct leat_view *view, const void *slot, size_t size_bytes,
                   struct leat_error *err) {
    struct head head;
    size_t head_bytes;
    int r;

    if (size_bytes < sizeof(head.header))
        return leat_error_set(
            err, -EPROTO, "the daemon sent a batch of %zu bytes, which is too short for its header",
            size_bytes);
    memcpy(&head.header, slot, sizeof(head.header));
    head_bytes = leat_slot_head_bytes(head.header.n_tensors);
    if (head_bytes > sizeof(head) || head_bytes > size_bytes)
        return leat_error_set(err, -EPROTO,
                              "the daemon sent a batch of %zu bytes, which cannot hold %u tensors",
                              size_bytes, head.header.n_tensors);
    memcpy(head.descriptors, (const uint8_t *)slot + sizeof(head.header),
           head_bytes - sizeof(head.header));
    r = leat_slot_check(&head, size_bytes, err);
    if (r < 0)
        return r;
    if (reserve_tensors(view, head.header.n_tensors) < 0)
        return leat_error_oom(err);
    view->header = head.header;
    for (size_t i = 0; i < head.header.n_tensors; i++) {
        view->descriptors[i] = head.descriptors[i];
        fill_tensor(&view->tensors[i], &view->descriptors[i], slot);
    }
    return 0;
}

void leat_view_move(struct leat_view *view, const void *from, const void *to) {
    for (size_t i = 0; i < view->header.n_tensors; i++) {
        size_t offset = (size_t)((const uint8_t *)view->tensors[i].data - (const uint8_t *)from);

        view->tensors[i].data = (const uint8_t *)to + offset;
    }
}

const struct leat_tensor *leat_view_find(const struct leat_view *view, const char *name) {
    for (size_t i = 0; i < view->header.n_tensors; i++)
        if (strcmp(view->tensors[i].name, name) == 0)
            return &view->tensors[i];
    return NULL;
}

void leat_view_deinit(struct leat_view *view) {
    free(view->descriptors);
    free(view->tensors);
    *view = (struct leat_view){.capacity = 0};
}
