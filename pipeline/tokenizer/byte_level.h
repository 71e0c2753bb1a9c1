/* byte_level.h: GPT-2's alphabet, in which every byte is a printable character. The bytes
 * 0x21..0x7e, 0xa1..0xac and 0xae..0xff are the characters of that number; the other 68, in order,
 * are U+0100..U+0143. Pure. */
#pragma once

#include <stdint.h>

/* The UTF-8 of a byte's character; returns 1 or 2 bytes. */
static inline uint32_t leat_byte_level_map(uint8_t byte, uint8_t *ret_utf8) {
    uint32_t code = byte;

    if (byte <= 0x20)
        code = 0x100u + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        code = 0x121u + byte - 0x7f;
    else if (byte == 0xad)
        code = 0x143;
    if (code < 0x80) {
        ret_utf8[0] = (uint8_t)code;
        return 1;
    }
    ret_utf8[0] = (uint8_t)(0xc0 | code >> 6);
    ret_utf8[1] = (uint8_t)(0x80 | (code & 0x3f));
    return 2;
}

/* The byte that a character stands for, or -1. */
static inline int leat_byte_level_unmap(uint32_t code) {
    if ((code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xff && code != 0xad))
        return (int)code;
    if (code >= 0x100 && code <= 0x120)
        return (int)(code - 0x100);
    if (code >= 0x121 && code <= 0x142)
        return (int)(code - 0x121 + 0x7f);
    return code == 0x143 ? 0xad : -1;
}
