/* token_encoding.c: see token_encoding.h. GPT-2's alphabet: the bytes 0x21..0x7e, 0xa1..0xac and
 * 0xae..0xff stand for themselves as code points, the other 68, in order, are U+0100..U+0143. */
#include "pipeline/tokenizer/token_encoding.h"

#include <string.h>

/* The byte of U+0100 + i. */
static uint8_t other_byte(uint32_t i) {
    if (i < 0x21)
        return (uint8_t)i;
    return i < 0x21 + 0x22 ? (uint8_t)(0x7f + i - 0x21) : 0xad;
}

/* The byte of a code point of the alphabet, or -1. */
static int alphabet_byte(uint32_t code) {
    if ((code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xff && code != 0xad))
        return (int)code;
    return code >= 0x100 && code <= 0x143 ? other_byte(code - 0x100) : -1;
}

static size_t decode_byte_level(const uint8_t *token, size_t n_bytes, uint8_t *ret_bytes) {
    size_t n = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        uint32_t code = token[i];
        int byte;

        if (code >= 0xc2 && code <= 0xdf && i + 1 < n_bytes && (token[i + 1] & 0xc0) == 0x80)
            code = (code & 0x1f) << 6 | (token[++i] & 0x3f);
        else if (code >= 0x80)
            code = 0;
        byte = alphabet_byte(code);
        if (byte < 0) {
            memcpy(ret_bytes, token, n_bytes);
            return n_bytes;
        }
        ret_bytes[n++] = (uint8_t)byte;
    }
    return n;
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t decode_metaspace(const uint8_t *token, size_t n_bytes, uint8_t *ret_bytes,
                               bool *ret_is_byte) {
    size_t n = 0;

    if (n_bytes == 6 && memcmp(token, "<0x", 3) == 0 && token[5] == '>' &&
        hex_digit(token[3]) >= 0 && hex_digit(token[4]) >= 0) {
        *ret_is_byte = true;
        ret_bytes[0] = (uint8_t)(hex_digit(token[3]) << 4 | hex_digit(token[4]));
        return 1;
    }
    for (size_t i = 0; i < n_bytes;) {
        if (i + 3 <= n_bytes && memcmp(token + i, "\xe2\x96\x81", 3) == 0) {
            ret_bytes[n++] = ' ';
            i += 3;
        } else {
            ret_bytes[n++] = token[i++];
        }
    }
    return n;
}

size_t leat_token_decode(enum leat_token_encoding encoding, const uint8_t *token, size_t n_bytes,
                         uint8_t *ret_bytes, bool *ret_is_byte) {
    *ret_is_byte = false;
    if (encoding == LEAT_TOKEN_ENCODING_BYTE_LEVEL)
        return decode_byte_level(token, n_bytes, ret_bytes);
    if (encoding == LEAT_TOKEN_ENCODING_METASPACE)
        return decode_metaspace(token, n_bytes, ret_bytes, ret_is_byte);
    memcpy(ret_bytes, token, n_bytes);
    return n_bytes;
}
