#include "proto/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/shown.h"
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
