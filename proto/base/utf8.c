/* utf8.c: see utf8.h. Runs of ASCII are passed over by eight bytes. */
#include "proto/base/utf8.h"

#include <string.h>

size_t leat_utf8_span(const void *text, size_t n) {
    const uint8_t *bytes = text;
    size_t at = 0;

    while (at < n) {
        uint64_t word;
        uint32_t n_character;

        while (n - at >= sizeof(word)) {
            memcpy(&word, bytes + at, sizeof(word));
            if (word & UINT64_C(0x8080808080808080))
                break;
            at += sizeof(word);
        }
        if (at == n)
            break;
        n_character = leat_utf8_character(bytes + at, n - at);
        if (n_character == 0)
            break;
        at += n_character;
    }
    return at;
}

size_t leat_utf8_broken(const uint8_t *text, size_t n) {
    uint8_t low = text[0] == 0xe0 ? 0xa0 : text[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = text[0] == 0xed ? 0x9f : text[0] == 0xf4 ? 0x8f : 0xbf;

    if (text[0] < 0xe0 || text[0] > 0xf4 || n < 2 || text[1] < low || text[1] > high)
        return 1;
    return text[0] >= 0xf0 && n > 2 && (text[2] & 0xc0) == 0x80 ? 3 : 2;
}
