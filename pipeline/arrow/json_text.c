/* json_text.c: see json_text.h. */
#include "pipeline/arrow/json_text.h"

#include <inttypes.h>
#include <math.h>

#include "pipeline/arrow/dictionary.h"
#include "pipeline/scalar.h"

static const bool is_escaped[256] = {
    [0] = true,  [1] = true,  [2] = true,  [3] = true,  [4] = true,   [5] = true,    [6] = true,
    [7] = true,  [8] = true,  [9] = true,  [10] = true, [11] = true,  [12] = true,   [13] = true,
    [14] = true, [15] = true, [16] = true, [17] = true, [18] = true,  [19] = true,   [20] = true,
    [21] = true, [22] = true, [23] = true, [24] = true, [25] = true,  [26] = true,   [27] = true,
    [28] = true, [29] = true, [30] = true, [31] = true, ['"'] = true, ['\\'] = true,
};

static void add_escape(struct leat_text *text, uint8_t byte) {
    static const char names[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};
    char name = byte == '\\' ? '\\' : byte < sizeof(names) ? names[byte] : '\0';

    if (name)
        leat_text_add_bytes(text, (char[]){'\\', name}, 2);
    else
        leat_text_add(text, "\\u%04x", byte);
}

static void add_string(struct leat_text *text, const uint8_t *bytes, uint64_t n, size_t max_bytes) {
    uint64_t run = 0, i = 0;

    leat_text_add_bytes(text, "\"", 1);
    for (; i < n && text->n_bytes <= max_bytes; i++) {
        if (!is_escaped[bytes[i]])
            continue;
        leat_text_add_bytes(text, bytes + run, (size_t)(i - run));
        add_escape(text, bytes[i]);
        run = i + 1;
    }
    if (n > run)
        leat_text_add_bytes(text, bytes + run, (size_t)(n - run));
    leat_text_add_bytes(text, "\"", 1);
}

void leat_arrow_json_number(struct leat_text *text, enum leat_arrow_number number,
                            const uint8_t *bytes) {
    enum leat_dtype dtype = leat_arrow_number_dtype(number);
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint64_t value = 0;
    size_t n;

    memcpy(&value, bytes, leat_arrow_number_size(number));
    if (number == LEAT_ARROW_UINT64 || number == LEAT_ARROW_UINT32) {
        leat_text_add(text, "%" PRIu64, value);
        return;
    }
    if (number == LEAT_ARROW_INT8 || number == LEAT_ARROW_INT16) {
        leat_text_add(text, "%d", number == LEAT_ARROW_INT8 ? (int8_t)value : (int16_t)value);
        return;
    }
    if (!leat_dtype_is_integer(dtype) && !isfinite(leat_scalar_double(&value, dtype, 0))) {
        leat_text_add_bytes(text, "null", 4);
        return;
    }
    n = leat_scalar_print(&value, dtype, 0, buffer);
    leat_text_add_bytes(text, buffer, n);
}

static void add_list(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    uint64_t first, n = leat_arrow_items(array, row, &first);

    leat_text_add_bytes(text, "[", 1);
    for (uint64_t i = 0; i < n && text->n_bytes <= max_bytes && !text->failed; i++) {
        if (i > 0)
            leat_text_add_bytes(text, ",", 1);
        leat_arrow_json(text, &array->children[0], first + i, max_bytes);
    }
    leat_text_add_bytes(text, "]", 1);
}

static void add_struct(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                       size_t max_bytes) {
    leat_text_add_bytes(text, "{", 1);
    for (uint32_t i = 0; i < array->n_children && text->n_bytes <= max_bytes; i++) {
        const char *name = array->children[i].field->name;

        if (i > 0)
            leat_text_add_bytes(text, ",", 1);
        add_string(text, (const uint8_t *)name, strlen(name), max_bytes);
        leat_text_add_bytes(text, ":", 1);
        leat_arrow_json(text, &array->children[i], row, max_bytes);
    }
    leat_text_add_bytes(text, "}", 1);
}

void leat_arrow_json(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    const uint8_t *bytes;
    uint64_t n;

    if (!leat_arrow_is_null(array, row))
        array = leat_arrow_resolve(array, &row);
    if (leat_arrow_is_null(array, row)) {
        leat_text_add_bytes(text, "null", 4);
        return;
    }
    switch (array->field->kind) {
    case LEAT_ARROW_BOOL:
        n = leat_arrow_bit(array->data, array->from, row);
        leat_text_add_bytes(text, n ? "true" : "false", n ? 4 : 5);
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
