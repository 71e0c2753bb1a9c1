/* read_bytes.h: reading every byte, as a trainer's first operation would. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The sum of all bytes, taken as 8-byte words. */
static inline uint64_t read_bytes(const void *data, size_t n_bytes) {
    const uint8_t *bytes = data;
    uint64_t sum = 0, word = 0;
    size_t i = 0;

    for (; i + 8 <= n_bytes; i += 8) {
        memcpy(&word, bytes + i, 8);
        sum += word;
    }
    word = 0;
    memcpy(&word, bytes + i, n_bytes - i);
    return sum + word;
}
