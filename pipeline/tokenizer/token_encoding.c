#include "pipeline/tokenizer/token_encoding.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/tokenizer/byte_level.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

static size_t decode_byte_level(const uint8_t *token, size_t n_bytes, uint8_t *ret_bytes) {
    size_t n = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        uint32_t code = token[i];
        int byte;

        if (code >= 0xc2 && code <= 0xdf && i + 1 < n_bytes && (token[i + 1] & 0xc0) == 0x80)
            code = (code & 0x1f) << 6 | (token[++i] & 0x3f);
        else if (code >= 0x80)
            code = 0;
        byte = leat_byte_level_unmap(code);
        if (byte < 0) {
            memcpy(ret_bytes, token, n_bytes);
            return n_bytes;
        }
        ret_bytes[n++] = (uint8_t)byte;
    }
    return n;
}

static size_t decode_metaspace(const uint8_t *token, size_t n_bytes, uint8_t *ret_bytes,
                               bool *ret_is_byte) {
    size_t n = 0;

    if (n_bytes == 6 && memcmp(token, "<0x", 3) == 0 && token[5] == '>' &&
        leat_hex_digit(token[3]) >= 0 && leat_hex_digit(token[4]) >= 0) {
        *ret_is_byte = true;
        ret_bytes[0] = (uint8_t)(leat_hex_digit(token[3]) << 4 | leat_hex_digit(token[4]));
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

const char *leat_token_text(const uint8_t *bytes, size_t n_bytes,
                            char ret_text[LEAT_TOKEN_TEXT_MAX]) {
    size_t n = 0;

    for (size_t i = 0; i < n_bytes;) {
        uint32_t length = leat_utf8_length(bytes + i, n_bytes - i);

        if (n + 8 > LEAT_TOKEN_TEXT_MAX) {
            memcpy(ret_text + n, "...", 3);
            n += 3;
            break;
        }
        if (length == 1 && (bytes[i] == '"' || bytes[i] == '\\'))
            ret_text[n++] = '\\';
        if (length == 1 && (bytes[i] < 0x20 || bytes[i] > 0x7e)) {
            n += (size_t)sprintf(ret_text + n, "\\x%02x", bytes[i]);
        } else {
            memcpy(ret_text + n, bytes + i, length);
            n += length;
        }
        i += length;
    }
    ret_text[n] = '\0';
    return ret_text;
}
