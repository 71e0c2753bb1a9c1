/* utf8.h: where a character of UTF-8 ends, and which it is (RFC 3629). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text[0], n >= 1 bytes of text: 1 to 4. A byte that begins no valid
 * character (overlong forms, surrogates and values above U+10FFFF are not valid) counts for itself.
 */
static inline uint32_t leat_utf8_length(const uint8_t *text, size_t n) {
    uint8_t first = text[0], low = 0x80, high = 0xbf;
    uint32_t n_bytes;

    if (first < 0xc2 || first > 0xf4)
        return 1;
    n_bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (n < n_bytes || text[1] < low || text[1] > high)
        return 1;
    for (uint32_t i = 2; i < n_bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 1;
    return n_bytes;
}

/* The character at text[0]; a byte that begins no valid one is U+FFFD. */
static inline uint32_t leat_utf8_code_point(const uint8_t *text, size_t n) {
    switch (leat_utf8_length(text, n)) {
    case 1:
        return text[0] < 0x80 ? text[0] : 0xfffd;
    case 2:
        return (uint32_t)(text[0] & 0x1f) << 6 | (text[1] & 0x3f);
    case 3:
        return (uint32_t)(text[0] & 0x0f) << 12 | (uint32_t)(text[1] & 0x3f) << 6 |
               (text[2] & 0x3f);
    default:
        return (uint32_t)(text[0] & 0x07) << 18 | (uint32_t)(text[1] & 0x3f) << 12 |
               (uint32_t)(text[2] & 0x3f) << 6 | (text[3] & 0x3f);
    }
}
