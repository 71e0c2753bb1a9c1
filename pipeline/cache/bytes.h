/* cache/bytes.h: bytes that grow while a block is written, and a reader that checks every step.
 * Owner: the job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_cache_bytes {
    uint8_t *data;
    size_t n_bytes, capacity;
    bool failed; /* memory is out; what follows is ignored */
};

void leat_cache_bytes_deinit(struct leat_cache_bytes *bytes);
/* Room for n_bytes more at the end, not yet counted; NULL when memory is out. */
uint8_t *leat_cache_bytes_reserve(struct leat_cache_bytes *bytes, size_t n_bytes);
void leat_cache_bytes_add(struct leat_cache_bytes *bytes, const void *data, size_t n_bytes);
/* Zeros up to the next multiple of 8. */
void leat_cache_bytes_align(struct leat_cache_bytes *bytes);

struct leat_cache_reader {
    const uint8_t *data;
    size_t n_bytes, at;
};

/* The next n_bytes and what aligns them to 8, or NULL if there are not so many. */
const uint8_t *leat_cache_take(struct leat_cache_reader *reader, size_t n_bytes);
