#include "proto/base/shown.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/utf8.h"

/* Bytes of the next character; *ret_is_plain: true if it is shown as it is. */
static size_t next_character(const uint8_t *at, size_t n, bool *ret_is_plain) {
    size_t length = leat_utf8_character(at, n);

    *ret_is_plain = length > 0 && at[0] >= 0x20 && at[0] != 0x7f &&
                    !(length == 2 && at[0] == 0xc2 && at[1] < 0xa0);
    return length > 0 ? length : 1;
}

static void escape_byte(char target[4], uint8_t byte) {
    static const char digits[] = "0123456789abcdef";

    target[0] = '\\';
    target[1] = 'x';
    target[2] = digits[byte >> 4];
    target[3] = digits[byte & 15];
}

size_t leat_show(char *target, size_t size, const char *text) {
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    size_t n = 0, n_written = 0;

    while (at < end) {
        char shown[8];
        bool is_plain;
        size_t length = next_character(at, (size_t)(end - at), &is_plain);
        size_t n_shown = is_plain ? length : 4 * length;

        if (is_plain)
            memcpy(shown, at, length);
        for (size_t i = 0; !is_plain && i < length; i++)
            escape_byte(shown + 4 * i, at[i]);
        if (n == n_written && n + n_shown < size) {
            memcpy(target + n, shown, n_shown);
            n_written += n_shown;
        }
        n += n_shown;
        at += length;
    }
    if (size > 0)
        target[n_written] = '\0';
    return n;
}

bool leat_is_shown_as_is(const char *text) {
    return leat_show(NULL, 0, text) == strlen(text);
}

const char *leat_show_bytes(uint64_t n_bytes, char buffer[LEAT_SHOW_BYTES_MAX]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)n_bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(buffer, LEAT_SHOW_BYTES_MAX, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buffer;
}
