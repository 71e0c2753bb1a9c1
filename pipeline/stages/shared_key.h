/* shared_key.h: texts and whole numbers as keys: a number stands for its decimal digits, so that 17
 * from JSON and "17" from CSV are the same key. Pure; any thread. */
#pragma once

#include "pipeline/stage/stage.h"
#include "proto/base/scalar.h"

/* Checks that a field can be a key. Errors are placed at `input`. */
static inline int leat_key_check(const struct leat_config *config, const char *name,
                                 const struct leat_field *field, struct leat_error *err) {
    if (field->dtype == LEAT_DTYPE_TEXT)
        return 0;
    if (!leat_dtype_is_integer(field->dtype))
        return leat_config_error(config, "input", err,
                                 "\"%s\" is %s, but whole numbers or text are needed: `bin` it, or "
                                 "`cast` it to whole numbers",
                                 name, leat_dtype_name(field->dtype));
    if (field->is_padded)
        return leat_config_error(config, "input", err,
                                 "\"%s\" is already padded: put `%s` before `pad` or `pack`", name,
                                 config->ops->name);
    return 0;
}

/* The key at `index`: a row of a text, an element of anything else. `buffer` has
 * LEAT_SCALAR_TEXT_MAX bytes. */
static inline const char *leat_key_text(const struct leat_map *map, uint32_t column, size_t index,
                                        char *buffer, size_t *ret_n) {
    const struct leat_column *keys = leat_map_column(map, column);
    enum leat_dtype dtype = map->fields[column].dtype;

    if (dtype == LEAT_DTYPE_TEXT) {
        *ret_n = keys->lengths[index];
        return (const char *)keys->values + keys->starts[index];
    }
    *ret_n = leat_scalar_print(keys->values, dtype, index, buffer);
    return buffer;
}
