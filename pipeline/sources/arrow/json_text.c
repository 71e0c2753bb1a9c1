/* json_text.c: see json_text.h. */
#include "pipeline/sources/arrow/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/block/scalar.h"
#include "pipeline/sources/arrow/dictionary.h"

static const bool is_escaped[256] = {
    [0] = true,  [1] = true,  [2] = true,  [3] = true,  [4] = true,   [5] = true,    [6] = true,
    [7] = true,  [8] = true,  [9] = true,  [10] = true, [11] = true,  [12] = true,   [13] = true,
    [14] = true, [15] = true, [16] = true, [17] = true, [18] = true,  [19] = true,   [20] = true,
    [21] = true, [22] = true, [23] = true, [24] = true, [25] = true,  [26] = true,   [27] = true,
    [28] = true, [29] = true, [30] = true, [31] = true, ['"'] = true, ['\\'] = true,
};

/* Room for that many bytes more, at the end; NULL: memory ran out. */
static char *reserve(struct leat_text *text, size_t n) {
    return leat_text_reserve(text, n) ? text->data + text->n_bytes : NULL;
}

static void add(struct leat_text *text, const char *bytes, size_t n) {
    char *out = reserve(text, n + 1);

    if (!out)
        return;
    memcpy(out, bytes, n);
    out[n] = '\0';
    text->n_bytes += n;
}

static void add_escape(struct leat_text *text, uint8_t byte) {
    static const char names[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};
    char name = byte == '\\' ? '\\' : byte < sizeof(names) ? names[byte] : '\0', code[8];

    if (name)
        add(text, (char[]){'\\', name}, 2);
    else
        add(text, code, (size_t)snprintf(code, sizeof(code), "\\u%04x", byte));
}

/* Whether one of 8 bytes is a control character, a quote or a backslash: by the usual test for a
 * zero byte, which may also hit a byte above such a one, and one above 0x7f. */
static bool may_be_escaped(const uint8_t *bytes) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t word, quote, backslash, control;

    memcpy(&word, bytes, sizeof(word));
    quote = word ^ (ones * '"');
    backslash = word ^ (ones * '\\');
    control = word - ones * 0x20;
    return ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | (control & ~word)) &
            highs) != 0;
}

static uint64_t clean_bytes(const uint8_t *bytes, uint64_t n) {
    uint64_t i = 0;

    while (i + 8 <= n && !may_be_escaped(bytes + i))
        i += 8;
    while (i < n && !is_escaped[bytes[i]])
        i++;
    return i;
}

static void add_string(struct leat_text *text, const uint8_t *bytes, uint64_t n, size_t max_bytes) {
    add(text, "\"", 1);
    while (n > 0 && text->n_bytes <= max_bytes && !text->failed) {
        uint64_t n_clean = clean_bytes(bytes, n);

        add(text, (const char *)bytes, (size_t)n_clean);
        if (n_clean < n)
            add_escape(text, bytes[n_clean++]);
        bytes += n_clean;
        n -= n_clean;
    }
    add(text, "\"", 1);
}

void leat_arrow_json_number(struct leat_text *text, enum leat_arrow_number number,
                            const uint8_t *bytes) {
    enum leat_dtype dtype = leat_arrow_number_dtype(number);
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint64_t value = 0;
    int64_t small;

    memcpy(&value, bytes, leat_arrow_number_size(number));
    if (number == LEAT_ARROW_UINT64) {
        add(text, buffer, (size_t)snprintf(buffer, sizeof(buffer), "%" PRIu64, value));
    } else if (!leat_dtype_is_integer(dtype) && !isfinite(leat_scalar_double(&value, dtype, 0))) {
        add(text, "null", 4);
    } else if (number == LEAT_ARROW_INT8 || number == LEAT_ARROW_INT16) {
        small = number == LEAT_ARROW_INT8 ? (int8_t)value : (int16_t)value;
        add(text, buffer, leat_scalar_print(&small, LEAT_DTYPE_INT64, 0, buffer));
    } else {
        add(text, buffer, leat_scalar_print(&value, dtype, 0, buffer));
    }
}

static void add_list(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    uint64_t first, n = leat_arrow_items(array, row, &first);

    add(text, "[", 1);
    for (uint64_t i = 0; i < n && text->n_bytes <= max_bytes && !text->failed; i++) {
        if (i > 0)
            add(text, ",", 1);
        leat_arrow_json(text, &array->children[0], first + i, max_bytes);
    }
    add(text, "]", 1);
}

char *leat_arrow_json_key(const char *name) {
    struct leat_text text = {.data = NULL};

    add_string(&text, (const uint8_t *)name, strlen(name), SIZE_MAX);
    leat_text_add(&text, ":");
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}

static void add_struct(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                       size_t max_bytes) {
    add(text, "{", 1);
    for (uint32_t i = 0; i < array->n_children && text->n_bytes <= max_bytes; i++) {
        const char *key = array->children[i].key;

        if (i > 0)
            add(text, ",", 1);
        add(text, key, strlen(key));
        leat_arrow_json(text, &array->children[i], row, max_bytes);
    }
    add(text, "}", 1);
}

void leat_arrow_json(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    const uint8_t *bytes;
    uint64_t n;

    if (!leat_arrow_is_null(array, row))
        array = leat_arrow_resolve(array, &row);
    if (leat_arrow_is_null(array, row)) {
        add(text, "null", 4);
        return;
    }
    switch (array->field->kind) {
    case LEAT_ARROW_BOOL:
        n = leat_arrow_bit(array->data, array->from, row);
        add(text, n ? "true" : "false", n ? 4 : 5);
        break;
    case LEAT_ARROW_NUMBER:
        leat_arrow_json_number(text, array->field->number, leat_arrow_number_at(array, row));
        break;
    case LEAT_ARROW_TEXT:
        bytes = leat_arrow_text(array, row, &n);
        add_string(text, bytes, n, max_bytes);
        break;
    case LEAT_ARROW_STRUCT:
        add_struct(text, array, row, max_bytes);
        break;
    default:
        add_list(text, array, row, max_bytes);
        break;
    }
}
