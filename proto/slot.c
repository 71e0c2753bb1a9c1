/* slot.c: the check that a reader makes before it believes a slot. */
#include "proto/slot.h"

#include <errno.h>
#include <string.h>

#include "proto/base/dtype.h"

static int check_tensor(const struct leat_slot_tensor *tensor, size_t index, size_t head_bytes,
                        uint64_t used_bytes, struct leat_error *err) {
    uint64_t bytes;

    if (!memchr(tensor->name, '\0', sizeof(tensor->name)) || !tensor->name[0])
        return leat_error_set(err, -EPROTO, "slot: tensor %zu has no valid name", index);
    if (tensor->ndim > LEAT_TENSOR_MAX_NDIM)
        return leat_error_set(err, -EPROTO,
                              "slot: tensor %zu has %u dimensions, but at most %d are possible",
                              index, tensor->ndim, LEAT_TENSOR_MAX_NDIM);
    if (!leat_dtype_is_element(tensor->dtype))
        return leat_error_set(err, -EPROTO, "slot: tensor %zu has the unknown dtype %u", index,
                              tensor->dtype);
    bytes = leat_dtype_size((enum leat_dtype)tensor->dtype);
    for (uint32_t d = 0; d < tensor->ndim; d++)
        if (__builtin_mul_overflow(bytes, tensor->shape[d], &bytes))
            return leat_error_set(err, -EPROTO, "slot: tensor %zu is too large", index);
    if (bytes != tensor->size_bytes || tensor->offset % LEAT_SLOT_ALIGN ||
        tensor->offset < head_bytes || tensor->offset > used_bytes ||
        bytes > used_bytes - tensor->offset)
        return leat_error_set(err, -EPROTO, "slot: tensor %zu lies outside the batch", index);
    return 0;
}

int leat_slot_check(const void *slot, size_t size_bytes, struct leat_error *err) {
    const struct leat_slot_header *header = slot;
    const struct leat_slot_tensor *tensors;
    size_t head_bytes;

    if (size_bytes < sizeof(*header))
        return leat_error_set(err, -EPROTO, "slot: %zu bytes are too few for the header",
                              size_bytes);
    if (header->magic != LEAT_SLOT_MAGIC || header->version != LEAT_SLOT_VERSION)
        return leat_error_set(
            err, -EPROTO,
            "slot: it begins with 0x%08x and version %u, so it is not a batch of version %d",
            header->magic, header->version, LEAT_SLOT_VERSION);
    head_bytes = leat_slot_head_bytes(header->n_tensors);
    if (header->n_tensors > LEAT_SLOT_MAX_TENSORS || header->used_bytes > size_bytes ||
        head_bytes > header->used_bytes)
        return leat_error_set(err, -EPROTO,
                              "slot: a batch of %u tensors and %llu bytes does not fit",
                              header->n_tensors, (unsigned long long)header->used_bytes);
    tensors = (const struct leat_slot_tensor *)(header + 1);
    for (size_t i = 0; i < header->n_tensors; i++) {
        int r = check_tensor(&tensors[i], i, head_bytes, header->used_bytes, err);
        if (r < 0)
            return r;
    }
    return 0;
}
