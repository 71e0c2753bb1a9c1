/* control_char.h: characters that a terminal obeys in place of showing them: of ASCII, and those of
 * U+0080 to U+009F, among which there are the beginnings of sequences, too. */
#pragma once

#include <stddef.h>

/* Bytes of the control character that the text begins with (UTF-8, ends with a NUL): 0, 1 or 2. */
static inline size_t leat_control_char(const char *text) {
    const unsigned char *at = (const unsigned char *)text;

    if (at[0] && (at[0] < 0x20 || at[0] == 0x7f))
        return 1;
    return at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? 2 : 0;
}
