#include "proto/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/utf8.h"

bool leat_text_reserve(struct leat_text *text, size_t n_more) {
    size_t capacity = text->capacity ? text->capacity : 256;
    char *data;

    if (text->failed)
        return false;
    if (text->n_bytes + n_more + 1 <= text->capacity)
        return true;
    while (capacity < text->n_bytes + n_more + 1)
        capacity *= 2;
    data = realloc(text->data, capacity);
    if (!data) {
        text->failed = 1;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void leat_text_add_bytes(struct leat_text *text, const void *bytes, size_t n_bytes) {
    if (!leat_text_reserve(text, n_bytes))
        return;
    if (n_bytes > 0)
        memcpy(text->data + text->n_bytes, bytes, n_bytes);
    text->n_bytes += n_bytes;
    text->data[text->n_bytes] = '\0';
}

void leat_text_add(struct leat_text *text, const char *format, ...) {
    va_list ap, again;
    int n;

    va_start(ap, format);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n >= 0 && leat_text_reserve(text, (size_t)n)) {
        (void)vsnprintf(text->data + text->n_bytes, (size_t)n + 1, format, again);
        text->n_bytes += (size_t)n;
    }
    va_end(again);
}

void leat_text_end_part(struct leat_text *text, struct leat_text *part) {
    text->failed |= part->failed;
    free(part->data);
}

void leat_text_add_shown(struct leat_text *text, const char *value) {
    size_t n = leat_show(NULL, 0, value);

    if (!leat_text_reserve(text, n))
        return;
    (void)leat_show(text->data + text->n_bytes, n + 1, value);
    text->n_bytes += n;
}

void leat_text_add_line(struct leat_text *text, const char *format, ...) {
    char *line = NULL;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&line, format, ap);
    va_end(ap);
    if (n < 0) {
        text->failed = 1;
        return;
    }
    leat_text_add_shown(text, line);
    leat_text_add_bytes(text, "\n", 1);
    free(line);
}

static void add_escaped(struct leat_text *text, uint8_t byte) {
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = byte ? strchr(plain, byte) : NULL;

    if (at)
        leat_text_add(text, "\\%c", letters[at - plain]);
    else
        leat_text_add(text, "\\u%04x", byte);
}

void leat_text_add_json(struct leat_text *text, const void *bytes, size_t n_bytes) {
    const uint8_t *at = bytes, *end = at + n_bytes, *run = at;

    leat_text_add_bytes(text, "\"", 1);
    while (at < end) {
        size_t n = leat_utf8_character(at, (size_t)(end - at));

        bool is_c1 = n == 2 && at[0] == 0xc2 && at[1] < 0xa0; /* terminals obey these, too */

        if (n > 0 && *at >= 0x20 && *at != '"' && *at != '\\' && *at != 0x7f && !is_c1) {
            at += n;
            continue;
        }
        leat_text_add_bytes(text, run, (size_t)(at - run));
        if (is_c1)
            add_escaped(text, *++at);
        else if (n == 0)
            leat_text_add(text, "\\ufffd");
        else
            add_escaped(text, *at);
        run = ++at;
    }
    leat_text_add_bytes(text, run, (size_t)(at - run));
    leat_text_add_bytes(text, "\"", 1);
}

/* ---- shown to people ---- */

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
        if (n + n_shown < size) {
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
