#include "pipeline/tokenizer/token_text.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"

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
