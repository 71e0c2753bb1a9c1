/* render.c: growing texts, JSON strings, rows. See render.h. */
#include "pipeline/plan/render.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/block/scalar.h"
#include "proto/base/shown.h"

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

bool leat_text_is_utf8(const uint8_t *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes;) {
        size_t n = leat_utf8_character(bytes + i, n_bytes - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
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

static void add_value(struct leat_text *text, const void *values, enum leat_dtype dtype,
                      size_t index) {
    char buffer[LEAT_SCALAR_TEXT_MAX];
    size_t n = leat_scalar_print(values, dtype, index, buffer);

    if (buffer[n - 1] == 'n' || buffer[n - 1] == 'f') /* nan, inf: JSON has no such numbers */
        leat_text_add(text, "null");
    else
        leat_text_add_bytes(text, buffer, n);
}

void leat_render_value(struct leat_text *text, const struct leat_field *field,
                       const struct leat_column *column, uint32_t row) {
    if (field->dtype == LEAT_DTYPE_TEXT) {
        leat_text_add_json(text, (const uint8_t *)column->values + column->starts[row],
                           column->lengths[row]);
        return;
    }
    if (!field->is_list) {
        add_value(text, column->values, field->dtype, row);
        return;
    }
    leat_text_add(text, "[");
    for (uint32_t i = 0; i < column->lengths[row]; i++) {
        if (i > 0)
            leat_text_add(text, ", ");
        add_value(text, column->values, field->dtype, column->starts[row] + i);
    }
    leat_text_add(text, "]");
}

const char *leat_making_text(enum leat_making made) {
    static const char *const texts[] = {
        [LEAT_MADE_OF_RECORDS] = "",
        [LEAT_MADE_AS_MASK] = "mask of",
        [LEAT_MADE_OF_PARTS] = "parts of",
        [LEAT_MADE_AS_LABELS] = "labels of",
        [LEAT_MADE_AS_START] = "start in",
        [LEAT_MADE_AS_POSITIONS] = "positions in",
        [LEAT_MADE_AS_SEGMENTS] = "documents of",
        [LEAT_MADE_AS_CU_SEQLENS] = "starts of documents of",
    };

    return texts[made];
}

static void add_made(struct leat_text *text, enum leat_making made, const char *name) {
    char buffer[LEAT_NAME_MAX + 64];
    int n = snprintf(buffer, sizeof(buffer), "(%s %s, made with the batch)", leat_making_text(made),
                     name);

    leat_text_add_json(text, buffer, (size_t)n);
}

void leat_render_row(struct leat_text *text, const struct leat_plan *plan,
                     const struct leat_block *block, uint32_t row, const uint32_t *columns,
                     const char (*names)[LEAT_NAME_MAX + 1], size_t n_fields) {
    leat_text_add(text, "{");
    for (size_t i = 0; i < n_fields; i++) {
        const struct leat_field *field = &plan->fields[columns[i]];
        const struct leat_column *column = &block->columns[columns[i]];

        leat_text_add(text, "%s", i ? ", " : "");
        leat_text_add_json(text, names[i], strlen(names[i]));
        leat_text_add(text, ": ");
        if (field->made != LEAT_MADE_OF_RECORDS)
            add_made(text, field->made, plan->fields[field->of].name);
        else if (!column->values)
            leat_text_add(text, "null");
        else
            leat_render_value(text, field, column, row);
    }
    leat_text_add(text, "}");
}
