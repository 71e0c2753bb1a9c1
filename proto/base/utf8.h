/* utf8.h: where a character of UTF-8 ends, and which it is (RFC 3629). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text[0], n >= 1 bytes of text: 1 to 4. 0: no valid character begins
 * there. Overlong forms, surrogates and values above U+10FFFF are not valid. */
static inline uint32_t leat_utf8_character(const uint8_t *text, size_t n) {
    uint8_t first = text[0], low = 0x80, high = 0xbf;
    uint32_t n_bytes;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
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
        return 0;
    for (uint32_t i = 2; i < n_bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n_bytes;
}

/* The same, but a byte that begins no valid character counts for itself. */
static inline uint32_t leat_utf8_length(const uint8_t *text, size_t n) {
    uint32_t n_bytes = leat_utf8_character(text, n);

    return n_bytes > 0 ? n_bytes : 1;
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

/* Bytes of valid characters at the start of the text. */
size_t leat_utf8_span(const void *text, size_t n);

/* Bytes that one U+FFFD replaces where no valid character begins: a cut character's longest valid
 * prefix, else one byte (Unicode 15, section 3.9). n >= 1. */
size_t leat_utf8_broken(const uint8_t *text, size_t n);

/* True if the whole text is valid. The pipeline checks its blocks with leat_json_is_utf8(), which
 * is simdjson's and faster where most characters are not of ASCII. */
static inline bool leat_utf8_is_valid(const void *text, size_t n) {
    return leat_utf8_span(text, n) == n;
}
