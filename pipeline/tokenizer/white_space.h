/* white_space.h: blanks of Unicode (property White_Space, 25 characters; the same in all versions
 * since 6.3) in valid UTF-8. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the blank at text[0], n bytes of text; 0: there is none. */
static inline size_t leat_white_space_length(const uint8_t *text, size_t n) {
    if (n >= 1 && (text[0] == ' ' || (text[0] >= 9 && text[0] <= 13)))
        return 1;
    if (n >= 2 && text[0] == 0xc2 && (text[1] == 0x85 || text[1] == 0xa0))
        return 2;
    if (n < 3)
        return 0;
    if (text[0] == 0xe2 && text[1] == 0x80)
        return (text[2] >= 0x80 && text[2] <= 0x8a) || text[2] == 0xa8 || text[2] == 0xa9 ||
                       text[2] == 0xaf
                   ? 3
                   : 0;
    return (text[0] == 0xe1 && text[1] == 0x9a && text[2] == 0x80) ||
                   (text[0] == 0xe2 && text[1] == 0x81 && text[2] == 0x9f) ||
                   (text[0] == 0xe3 && text[1] == 0x80 && text[2] == 0x80)
               ? 3
               : 0;
}

/* Bytes of the blank that ends at text[n - 1]. */
static inline size_t leat_white_space_length_before(const uint8_t *text, size_t n) {
    for (size_t length = 1; length <= 3 && length <= n; length++)
        if ((text[n - length] & 0xc0) != 0x80)
            return leat_white_space_length(text + n - length, length) == length ? length : 0;
    return 0;
}
