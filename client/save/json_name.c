/* json_name.c: see json_name.h. */
#include "client/save/json_name.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the length of the sequence that `lead` begins (0: none), and the range of its second
 * byte, which excludes overlong forms, surrogates, and code points above U+10FFFF (RFC 3629,
 * section 4).
 */
static size_t sequence(uint8_t lead, uint8_t *ret_least, uint8_t *ret_most) {
    *ret_least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *ret_most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

bool leat_name_is_utf8(const char *name) {
    const uint8_t *at = (const uint8_t *)name;

    while (*at) {
        uint8_t least, most;
        size_t n = sequence(*at, &least, &most);

        if (n == 0 || (n > 1 && (at[1] < least || at[1] > most)))
            return false;
        for (size_t i = 2; i < n; i++) /* the terminator ends the loop, too */
            if ((at[i] & 0xc0) != 0x80)
                return false;
        at += n;
    }
    return true;
}

void leat_name_json(const char *name, char ret_text[LEAT_JSON_NAME_MAX]) {
    char *at = ret_text;

    assert(strlen(name) <= LEAT_NAME_MAX);
    *at++ = '"';
    for (; *name; name++) {
        uint8_t byte = (uint8_t)*name;

        if (byte < 0x20 || byte == 0x7f) {
            at += sprintf(at, "\\u%04x", byte);
            continue;
        }
        if (byte == '"' || byte == '\\')
            *at++ = '\\';
        *at++ = (char)byte;
    }
    *at++ = '"';
    *at = '\0';
}
