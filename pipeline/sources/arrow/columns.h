/* columns.h: the selected columns of an Arrow file, each with the structs around it.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/array.h"
#include "pipeline/sources/arrow/layout.h"
#include "proto/base/text.h"

/* A column that is read. A path is names with dots between; \. is a dot within a name. */
struct leat_arrow_selection {
    const char *name, *path;
    bool is_json; /* any value becomes JSON text; text stays as it is */
    bool is_text; /* it is declared as text */
};

/* The structs down to a field, and the field. */
struct leat_arrow_way {
    const struct leat_arrow_field *fields[LEAT_ARROW_DEPTH_MAX];
    uint32_t n_fields;
};

struct leat_arrow_column {
    struct leat_arrow_array *chain; /* [n_chain]: the structs around it, and itself */
    uint32_t n_chain;
    uint32_t top; /* index of chain[0] among the schema's fields */
    char *name, *type;
    struct leat_text json; /* of the loaded rows */
};

struct leat_arrow_columns {
    const struct leat_arrow_schema *schema;
    struct leat_arrow_column *columns; /* [layout.n_slots]; n_chain 0: it is not read */
    struct leat_arrow_layout layout;
    struct leat_arrow_dictionaries dictionaries;
    struct leat_arrow_place *places; /* [schema->n_fields]: of top fields, in a batch */
};

/* Without selections it takes all columns, those of structs as `outer.inner`. -EINVAL: a column is
 * missing, or there are too many. */
int leat_arrow_columns_init(struct leat_arrow_columns *columns,
                            const struct leat_arrow_schema *schema,
                            const struct leat_arrow_selection *selections, size_t n_selections,
                            struct leat_error *err);
/* Finds the field of a path. False: there is none. */
bool leat_arrow_find(const struct leat_arrow_schema *schema, const char *path,
                     struct leat_arrow_way *ret_way);
void leat_arrow_columns_deinit(struct leat_arrow_columns *columns);

/* Finds the columns in a batch. */
int leat_arrow_columns_bind(struct leat_arrow_columns *columns,
                            const struct leat_arrow_binding *binding, struct leat_error *err);
/* The rows are of the batch. */
int leat_arrow_columns_extent(struct leat_arrow_columns *columns,
                              const struct leat_arrow_body *body, uint64_t from, uint64_t n,
                              uint64_t *ret_n_bytes, struct leat_error *err);
int leat_arrow_columns_load(struct leat_arrow_columns *columns, const struct leat_arrow_body *body,
                            uint64_t from, uint64_t n, struct leat_error *err);

static inline struct leat_arrow_array *leat_arrow_leaf(const struct leat_arrow_column *column) {
    return &column->chain[column->n_chain - 1];
}

static inline bool leat_arrow_column_may_be_null(const struct leat_arrow_column *column) {
    bool may = leat_arrow_leaf(column)->dictionary;

    for (uint32_t i = 0; i < column->n_chain; i++)
        may |= column->chain[i].bits || column->chain[i].field->kind == LEAT_ARROW_NULL;
    return may;
}

static inline bool leat_arrow_column_is_null(const struct leat_arrow_column *column, uint64_t row) {
    const struct leat_arrow_array *array = leat_arrow_leaf(column);

    for (uint32_t i = 0; i + 1 < column->n_chain; i++)
        if (leat_arrow_is_null(&column->chain[i], row))
            return true;
    if (leat_arrow_is_null(array, row))
        return true;
    if (!array->dictionary)
        return false;
    array = leat_arrow_resolve(array, &row);
    return leat_arrow_is_null(array, row);
}
