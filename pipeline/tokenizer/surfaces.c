/* surfaces.c: see surfaces.h. */
#include "pipeline/tokenizer/surfaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void leat_surfaces_deinit(struct leat_surfaces *surfaces) {
    free(surfaces->bytes);
    free(surfaces->ends);
    *surfaces = (struct leat_surfaces){.n = 0};
}

static size_t end_of(const struct leat_surfaces *surfaces, size_t n) {
    return n ? surfaces->ends[n - 1] : 0;
}

static int reserve(struct leat_surfaces *surfaces, size_t n_bytes) {
    if (surfaces->n == surfaces->n_capacity) {
        size_t capacity = 2 * surfaces->n_capacity + 16;
        size_t *ends = reallocarray(surfaces->ends, capacity, sizeof(*ends));

        if (!ends)
            return -ENOMEM;
        surfaces->ends = ends;
        surfaces->n_capacity = capacity;
    }
    if (n_bytes > surfaces->bytes_capacity) {
        size_t capacity = n_bytes + n_bytes / 2 + 64;
        uint8_t *bytes = realloc(surfaces->bytes, capacity);

        if (!bytes)
            return -ENOMEM;
        surfaces->bytes = bytes;
        surfaces->bytes_capacity = capacity;
    }
    return 0;
}

int leat_surfaces_add(struct leat_surfaces *surfaces, const uint8_t *bytes, uint32_t n_bytes,
                      uint32_t *ret_surface) {
    size_t start = end_of(surfaces, surfaces->n);
    int r = reserve(surfaces, start + n_bytes);

    if (r < 0)
        return r;
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
