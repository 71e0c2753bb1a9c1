#include "pipeline/block/json_scalar.h"

#include <errno.h>
#include <math.h>

#include "proto/base/json_writer.h"
#include "proto/base/scalar.h"

static int store_zero(void *values, enum leat_dtype dtype, size_t index) {
    int r = leat_scalar_store_int(values, dtype, index, 0);

    return r == 0 && !leat_dtype_is_integer(dtype) ? LEAT_JSON_SCALAR_ZERO : r;
}

/* True if float64 would round the number. That dtype is inferred for fields with large and
 * fractional numbers, so nobody chose to lose digits. Narrower floats are chosen by name. */
static bool is_rounded(enum leat_dtype dtype, struct leat_json_node node) {
    double number = leat_json_double(node);

    if (dtype != LEAT_DTYPE_FLOAT64)
        return false;
    if (leat_json_kind(node) == LEAT_JSON_DOUBLE)
        return fabs(number) >= 0x1p63 && leat_json_is_rounded(node);
    if (leat_json_kind(node) == LEAT_JSON_INT)
        return leat_scalar_rounds(dtype, leat_json_int(node));
    return !(number < 0x1p64 && (uint64_t)number == leat_json_uint(node));
}

int leat_json_scalar_store(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node) {
    enum leat_json_kind kind = leat_json_kind(node);
    int64_t integer;
    double number;

    if ((kind == LEAT_JSON_BOOL) != (dtype == LEAT_DTYPE_BOOL))
        return -EINVAL;
    switch (kind) {
    case LEAT_JSON_BOOL:
        return leat_scalar_store_int(values, dtype, index, leat_json_bool(node));
    case LEAT_JSON_INT:
        integer = leat_json_int(node);
        if (integer == 0)
            return store_zero(values, dtype, index);
        return is_rounded(dtype, node) ? -ERANGE
                                       : leat_scalar_store_int(values, dtype, index, integer);
    case LEAT_JSON_UINT:
    case LEAT_JSON_DOUBLE:
        number = leat_json_double(node);
        if (!isfinite(number) || is_rounded(dtype, node) ||
            leat_scalar_store_double(values, dtype, index, number) < 0)
            return -ERANGE;
        return 0;
    default:
        return -EINVAL;
    }
}

void leat_json_scalar_sign(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node) {
    if (leat_json_is_minus_zero(node))
        (void)leat_scalar_store_double(values, dtype, index, -0.0);
}

/* ---- writing ---- */

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
