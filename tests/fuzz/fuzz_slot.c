/* fuzz_slot.c: bytes as a batch's slot: whatever is accepted lies inside, and every byte of every
 * tensor can be read. */
#include <stdlib.h>
#include <string.h>

#include "client/transport/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *slot = malloc(n_bytes ? n_bytes : 1);
    volatile uint8_t sum = 0;

    if (!slot)
        return 0;
    if (n_bytes)
        memcpy(slot, data, n_bytes);
    if (leat_view_read(&view, slot, n_bytes, &err) == 0)
        for (size_t i = 0; i < view.header.n_tensors; i++)
            for (uint64_t at = 0; at < view.tensors[i].size_bytes; at++)
                sum = (uint8_t)(sum + ((const uint8_t *)view.tensors[i].data)[at]);
    leat_view_deinit(&view);
    free(slot);
    return 0;
}
