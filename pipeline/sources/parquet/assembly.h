/* assembly.h: a column of records, of one or more leaves, as arrays of Arrow (Dremel's record
 * assembly by levels).
 *
 * An array has a place for each entry of a leaf below it whose repetition level is not above that
 * of the lists around it, and whose definition level reaches the item of the innermost of them.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/columns.h"
#include "pipeline/sources/parquet/leaf.h"

/* An array of the column, and what is in it. */
struct leat_parquet_node {
    struct leat_arrow_array *array;
    const struct leat_parquet_field *field;
    uint32_t leaf; /* whose levels it follows: the first below it, or itself */
    bool is_item;  /* a list is around it */
    struct leat_parquet_block *bits, *ends, *converted, *texts, *spaced;
};

struct leat_parquet_column {
    const struct leat_arrow_column *arrow;
    struct leat_parquet_leaf_reader *leaves;
    uint32_t n_leaves;
    struct leat_parquet_node *nodes; /* the structs around it, and its field with all below */
    uint32_t n_nodes;
    uint64_t first_row; /* of the file, of those that are loaded */
    uint32_t n_rows;
};

/* Makes the column's leaves and nodes. 0 or -ENOMEM. */
int leat_parquet_column_init(struct leat_parquet_column *column,
                             const struct leat_arrow_column *arrow,
                             const struct leat_parquet_schema *schema);
void leat_parquet_column_deinit(struct leat_parquet_column *column,
                                struct leat_parquet_source *source);

/* Drops the rows that are loaded, in front of another row group. */
void leat_parquet_column_leave(struct leat_parquet_column *column,
                               struct leat_parquet_source *source);
/* Loads up to n_rows, of which `row` is the first, into the arrays. */
int leat_parquet_column_load(struct leat_parquet_column *column, struct leat_parquet_source *source,
                             uint64_t row, uint32_t n_rows, struct leat_error *err);
