#include "pipeline/sources/arrow/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/sources/arrow/json_string.h"
#include "proto/base/scalar.h"

void leat_arrow_json_number(struct leat_text *text, enum leat_arrow_number number,
                            const uint8_t *bytes) {
    enum leat_dtype dtype = leat_arrow_number_dtype(number);
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint64_t value = 0;
    int64_t small;

    memcpy(&value, bytes, leat_arrow_number_size(number));
    if (number == LEAT_ARROW_UINT64) {
        leat_arrow_json_add(text, buffer,
                            (size_t)snprintf(buffer, sizeof(buffer), "%" PRIu64, value));
    } else if (!leat_dtype_is_integer(dtype) && !isfinite(leat_scalar_double(&value, dtype, 0))) {
        leat_arrow_json_add(text, "null", 4);
    } else if (number == LEAT_ARROW_INT8 || number == LEAT_ARROW_INT16) {
        small = number == LEAT_ARROW_INT8 ? (int8_t)value : (int16_t)value;
        leat_arrow_json_add(text, buffer, leat_scalar_print(&small, LEAT_DTYPE_INT64, 0, buffer));
    } else {
        leat_arrow_json_add(text, buffer, leat_scalar_print(&value, dtype, 0, buffer));
    }
}

static void add_list(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    uint64_t first, n = leat_arrow_items(array, row, &first);

    leat_arrow_json_add(text, "[", 1);
    for (uint64_t i = 0; i < n && text->n_bytes <= max_bytes && !text->failed; i++) {
        if (i > 0)
            leat_arrow_json_add(text, ",", 1);
        leat_arrow_json(text, &array->children[0], first + i, max_bytes);
    }
    leat_arrow_json_add(text, "]", 1);
}

static void add_struct(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                       size_t max_bytes) {
    leat_arrow_json_add(text, "{", 1);
    for (uint32_t i = 0; i < array->n_children && text->n_bytes <= max_bytes; i++) {
        const struct leat_arrow_field *field = array->children[i].field;

        if (i > 0)
            leat_arrow_json_add(text, ",", 1);
        leat_arrow_json_add(text, field->key, field->n_key);
        leat_arrow_json(text, &array->children[i], row, max_bytes);
    }
    leat_arrow_json_add(text, "}", 1);
}

void leat_arrow_json(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes) {
    const uint8_t *bytes;
    uint64_t n;

    if (!leat_arrow_is_null(array, row))
        array = leat_arrow_resolve(array, &row);
    if (leat_arrow_is_null(array, row)) {
        leat_arrow_json_add(text, "null", 4);
        return;
    }
    switch (array->field->kind) {
    case LEAT_ARROW_BOOL:
        n = leat_arrow_bit(array->data, array->from, row);
        leat_arrow_json_add(text, n ? "true" : "false", n ? 4 : 5);
        break;
    case LEAT_ARROW_NUMBER:
        leat_arrow_json_number(text, array->field->number, leat_arrow_number_at(array, row));
        break;
    case LEAT_ARROW_TEXT:
        bytes = leat_arrow_text(array, row, &n);
        leat_arrow_json_string(text, bytes, n, max_bytes);
        break;
    case LEAT_ARROW_STRUCT:
        add_struct(text, array, row, max_bytes);
        break;
    default:
        add_list(text, array, row, max_bytes);
        break;
    }
}
