/* lossy.c: see lossy.h. */
#include "pipeline/tokenizer/decode/lossy.h"

#include "pipeline/tokenizer/utf8.h"

/* Bytes of valid characters at the start. */
static size_t valid_length(const uint8_t *bytes, size_t n) {
    size_t at = 0;

    while (at < n) {
        uint32_t length = leat_utf8_length(bytes + at, n - at);
        if (length == 1 && bytes[at] >= 0x80)
            break;
        at += length;
    }
    return at;
}

/* How many of the bytes, which begin no character, one U+FFFD stands for. */
static size_t invalid_length(const uint8_t *bytes, size_t n) {
    uint8_t low = bytes[0] == 0xe0 ? 0xa0 : bytes[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = bytes[0] == 0xed ? 0x9f : bytes[0] == 0xf4 ? 0x8f : 0xbf;

    if (bytes[0] < 0xe0 || bytes[0] > 0xf4 || n < 2 || bytes[1] < low || bytes[1] > high)
        return 1;
    return bytes[0] >= 0xf0 && n > 2 && (bytes[2] & 0xc0) == 0x80 ? 3 : 2;
}

bool leat_is_utf8(const uint8_t *bytes, size_t n) {
    return valid_length(bytes, n) == n;
}

int leat_put_lossy(const uint8_t *bytes, size_t n, struct leat_pieces *out) {
    int r = 0;

    while (n && r == 0) {
        size_t length = valid_length(bytes, n);
        r = leat_pieces_put(out, bytes, length);
        bytes += length;
        n -= length;
        if (n == 0 || r < 0)
            break;
        r = leat_pieces_put(out, LEAT_REPLACEMENT_CHARACTER, 3);
        length = invalid_length(bytes, n);
        bytes += length;
        n -= length;
    }
    return r;
}
