/* fuzz_slot.c: bytes as a batch's slot: whatever is accepted lies inside, every tensor is as large
 * as its shape says, and every byte of it can be read. What is refused says why. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/transport/view.h"
#include "proto/base/dtype.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(0, mutate_in_place(data, size, seed))

/* Its bytes lie inside the slot, and are as many as its shape says. */
static void check_tensor(const struct leat_tensor *tensor, const uint8_t *slot, size_t n_bytes) {
    size_t at = (size_t)((const uint8_t *)tensor->data - slot);
    uint64_t stride = leat_dtype_size((enum leat_dtype)tensor->dtype);

    assert((const uint8_t *)tensor->data >= slot && at <= n_bytes);
    assert(tensor->size_bytes <= n_bytes - at && at % LEAT_SLOT_ALIGN == 0);
    assert(tensor->name[0] && tensor->ndim <= LEAT_MAX_NDIM);
    for (uint32_t i = tensor->ndim; i-- > 0; stride *= tensor->shape[i])
        assert(tensor->strides[i] == stride);
    assert(tensor->size_bytes == stride);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *slot = malloc(n_bytes ? n_bytes : 1);
    volatile uint8_t sum = 0;
    int r;

    if (!slot)
        return 0;
    if (n_bytes)
        memcpy(slot, data, n_bytes);
    r = leat_view_read(&view, slot, n_bytes, &err);
    assert(r <= 0 && (r == 0 || (err.code == r && err.message[0])));
    for (size_t i = 0; r == 0 && i < view.header.n_tensors; i++) {
        check_tensor(&view.tensors[i], slot, n_bytes);
        for (uint64_t at = 0; at < view.tensors[i].size_bytes; at++)
            sum = (uint8_t)(sum + ((const uint8_t *)view.tensors[i].data)[at]);
    }
    leat_view_deinit(&view);
    free(slot);
    return 0;
}
