#include "pipeline/block/render.h"

#include "pipeline/block/scalar.h"
#include "proto/base/json_writer.h"

static void add_value(struct leat_text *json, const char *key, const void *values,
                      enum leat_dtype dtype, size_t index) {
    char buffer[LEAT_SCALAR_TEXT_MAX];
    size_t n = leat_scalar_print(values, dtype, index, buffer);

    if (buffer[n - 1] == 'n' || buffer[n - 1] == 'f') /* nan, inf: JSON has no such numbers */
        leat_json_add_null(json, key);
    else
        leat_json_add_raw(json, key, buffer, n);
}

void leat_render_value(struct leat_text *json, const char *key, const struct leat_field *field,
                       const struct leat_column *column, uint32_t row) {
    if (field->dtype == LEAT_DTYPE_TEXT) {
        leat_json_add_bytes(json, key, (const uint8_t *)column->values + column->starts[row],
                            column->lengths[row]);
        return;
    }
    if (!field->is_list) {
        add_value(json, key, column->values, field->dtype, row);
        return;
    }
    leat_json_open(json, key, '[');
    for (uint32_t i = 0; i < column->lengths[row]; i++)
        add_value(json, NULL, column->values, field->dtype, column->starts[row] + i);
    leat_json_close(json, ']');
}
