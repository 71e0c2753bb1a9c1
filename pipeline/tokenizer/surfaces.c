#include "pipeline/tokenizer/surfaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

void leat_surfaces_deinit(struct leat_surfaces *surfaces) {
    free(surfaces->bytes);
    free(surfaces->ends);
    *surfaces = (struct leat_surfaces){.n = 0};
}

static size_t end_of(const struct leat_surfaces *surfaces, size_t n) {
    return n ? surfaces->ends[n - 1] : 0;
}

int leat_surfaces_add(struct leat_surfaces *surfaces, const uint8_t *bytes, uint32_t n_bytes,
                      uint32_t *ret_surface) {
    size_t start = end_of(surfaces, surfaces->n);

    if (!leat_array_reserve(&surfaces->ends, surfaces->n + 1, &surfaces->n_capacity) ||
        !leat_array_reserve(&surfaces->bytes, start + n_bytes, &surfaces->bytes_capacity))
        return -ENOMEM;
    if (n_bytes)
        memcpy(surfaces->bytes + start, bytes, n_bytes);
    surfaces->ends[surfaces->n++] = start + n_bytes;
    *ret_surface = (uint32_t)surfaces->n;
    return 0;
}

const uint8_t *leat_surfaces_get(const struct leat_surfaces *surfaces, uint32_t surface,
                                 uint32_t *ret_n_bytes) {
    size_t start = end_of(surfaces, surface - 1);

    *ret_n_bytes = (uint32_t)(surfaces->ends[surface - 1] - start);
    return surfaces->bytes + start;
}
