/* json_scalar.c: see json_scalar.h. */
#include "pipeline/json_scalar.h"

#include <errno.h>

/* float64 is inferred of fields that hold large and fractional numbers: nobody chose to lose
 * digits. Narrower floats are asked for by name. */
static bool is_rounded(enum leat_dtype dtype, struct leat_json_node node) {
    double number = leat_json_double(node);

    if (dtype != LEAT_DTYPE_FLOAT64 || leat_json_kind(node) == LEAT_JSON_DOUBLE)
        return false;
    if (leat_json_kind(node) == LEAT_JSON_INT)
        return leat_scalar_rounds(dtype, leat_json_int(node));
    return !(number < 0x1p64 && (uint64_t)number == leat_json_uint(node));
}

int leat_json_scalar_store(void *values, enum leat_dtype dtype, size_t index,
                           struct leat_json_node node) {
    enum leat_json_kind kind = leat_json_kind(node);

    if ((kind == LEAT_JSON_BOOL) != (dtype == LEAT_DTYPE_BOOL))
        return -EINVAL;
    switch (kind) {
    case LEAT_JSON_BOOL:
        return leat_scalar_store_int(values, dtype, index, leat_json_bool(node));
    case LEAT_JSON_INT:
        return is_rounded(dtype, node)
                   ? -ERANGE
                   : leat_scalar_store_int(values, dtype, index, leat_json_int(node));
    case LEAT_JSON_UINT:
    case LEAT_JSON_DOUBLE:
        if (is_rounded(dtype, node) ||
            leat_scalar_store_double(values, dtype, index, leat_json_double(node)) < 0)
            return -ERANGE;
        return 0;
    default:
        return -EINVAL;
    }
}
