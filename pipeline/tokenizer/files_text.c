/* files_text.c: see files_text.h. */
#include "pipeline/tokenizer/files_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/utf8.h"

/* Room for n more bytes and a terminator. */
static bool reserve(struct leat_files_text *text, size_t n) {
    size_t capacity = text->capacity + text->capacity / 2;
    char *grown;

    if (text->failure < 0)
        return false;
    if (n >= LEAT_JSON_BYTES_MAX - text->n) {
        text->failure = -E2BIG;
        return false;
    }
    if (text->n + n < text->capacity)
        return true;
    if (capacity < text->n + n + 1)
        capacity = text->n + n + 4096;
    grown = realloc(text->data, capacity);
    if (!grown) {
        text->failure = -ENOMEM;
        return false;
    }
    text->data = grown;
    text->capacity = capacity;
    return true;
}

void leat_files_text_put(struct leat_files_text *text, const void *bytes, size_t n) {
    if (!reserve(text, n))
        return;
    if (n)
        memcpy(text->data + text->n, bytes, n);
    text->n += n;
    text->data[text->n] = '\0';
}

void leat_files_text_puts(struct leat_files_text *text, const char *string) {
    leat_files_text_put(text, string, strlen(string));
}

void leat_files_text_put_uint(struct leat_files_text *text, uint64_t value) {
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

    leat_files_text_put(text, digits, (size_t)n);
}

void leat_files_text_put_bool(struct leat_files_text *text, bool value) {
    leat_files_text_puts(text, value ? "true" : "false");
}

static bool is_plain(char c) {
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\';
}

void leat_files_text_put_string(struct leat_files_text *text, const char *bytes, size_t n) {
    char escape[8];

    leat_files_text_put(text, "\"", 1);
    for (size_t at = 0; at < n; at++) {
        size_t start = at;
        while (at < n && is_plain(bytes[at]))
            at++;
        leat_files_text_put(text, bytes + start, at - start);
        if (at == n)
            break;
        (void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)bytes[at]);
        leat_files_text_puts(text, escape);
    }
    leat_files_text_put(text, "\"", 1);
}

bool leat_files_lines_next(struct leat_files_lines *lines, const char **ret_line, size_t *ret_n) {
    size_t left = (size_t)(lines->end - lines->at);
    const char *newline;

    if (!left)
        return false;
    newline = memchr(lines->at, '\n', left);
    *ret_line = lines->at;
    *ret_n = newline ? (size_t)(newline - lines->at) : left;
    lines->at += newline ? *ret_n + 1 : left;
    lines->line++;
    if (newline && *ret_n && (*ret_line)[*ret_n - 1] == '\r')
        --*ret_n;
    return true;
}

bool leat_files_is_utf8(const char *text, size_t n) {
    const uint8_t *bytes = (const uint8_t *)text;

    for (size_t at = 0; at < n;) {
        uint32_t length = leat_utf8_length(bytes + at, n - at);
        if (length == 1 && bytes[at] >= 0x80)
            return false;
        at += length;
    }
    return true;
}

char *leat_files_path_in(const char *directory, const char *name) {
    size_t n = strlen(directory);
    char *path;

    while (n > 1 && directory[n - 1] == '/')
        n--;
    return asprintf(&path, "%.*s/%s", (int)n, directory, name) < 0 ? NULL : path;
}

char *leat_files_path_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash + 1 - path) : 0;
    char *beside;

    return asprintf(&beside, "%.*s%s", n, path, name) < 0 ? NULL : beside;
}
