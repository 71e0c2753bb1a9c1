#include "pipeline/cache/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

void leat_cache_bytes_deinit(struct leat_cache_bytes *bytes) {
    free(bytes->data);
    *bytes = (struct leat_cache_bytes){.data = NULL};
}

uint8_t *leat_cache_bytes_reserve(struct leat_cache_bytes *bytes, size_t n_bytes) {
    size_t n_wanted;

    if (bytes->failed || __builtin_add_overflow(bytes->n_bytes, n_bytes, &n_wanted) ||
        !leat_array_reserve(&bytes->data, n_wanted, &bytes->capacity)) {
        bytes->failed = true;
        return NULL;
    }
    return bytes->data + bytes->n_bytes;
}

void leat_cache_bytes_add(struct leat_cache_bytes *bytes, const void *data, size_t n_bytes) {
    uint8_t *at = leat_cache_bytes_reserve(bytes, n_bytes);

    if (!at || n_bytes == 0)
        return;
    memcpy(at, data, n_bytes);
    bytes->n_bytes += n_bytes;
}

void leat_cache_bytes_align(struct leat_cache_bytes *bytes) {
    static const uint8_t zeros[8];

    leat_cache_bytes_add(bytes, zeros, (8 - bytes->n_bytes % 8) % 8);
}

const uint8_t *leat_cache_take(struct leat_cache_reader *reader, size_t n_bytes) {
    const uint8_t *at = reader->data + reader->at;
    size_t n_left = reader->n_bytes - reader->at;
    size_t n_aligned = n_bytes + (8 - n_bytes % 8) % 8;

    if (n_aligned < n_bytes || n_aligned > n_left)
        return NULL;
    reader->at += n_aligned;
    return at;
}
