/* render.c: see render.h. */
#include "pipeline/block/render.h"

#include "pipeline/block/scalar.h"

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
