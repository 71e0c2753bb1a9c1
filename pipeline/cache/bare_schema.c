/* bare_schema.c: see bare_schema.h. */
#include "pipeline/cache/bare_schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int leat_bare_schema_init(struct leat_bare_schema *schema, const struct leat_plan *plan,
                          bool has_columns) {
    size_t n = plan->n_columns ? plan->n_columns : 1;

    *schema = (struct leat_bare_schema){
        .plan = plan,
        .has_columns = has_columns,
        .fields = calloc(n, sizeof(*schema->fields)),
        .is_kept = calloc(n, sizeof(*schema->is_kept)),
    };
    if (!schema->fields || !schema->is_kept) {
        leat_bare_schema_deinit(schema);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < plan->n_columns; i++) {
        schema->fields[i] = plan->fields[i];
        schema->is_kept[i] = has_columns && plan->is_kept[i];
        if (plan->fields[i].is_list) {
            schema->fields[i].is_list = false;
            schema->fields[i].dtype = LEAT_DTYPE_INT32;
        }
    }
    return 0;
}

void leat_bare_schema_deinit(struct leat_bare_schema *schema) {
    free(schema->fields);
    free(schema->is_kept);
    *schema = (struct leat_bare_schema){.plan = NULL};
}

static struct leat_cache_schema bytes_schema(const struct leat_bare_schema *schema) {
    return (struct leat_cache_schema){
        .fields = schema->fields, .is_kept = schema->is_kept, .n_columns = schema->plan->n_columns};
}

int leat_bare_encode(const struct leat_bare_schema *schema, const struct leat_block *block,
                     struct leat_arena *scratch, struct leat_cache_bytes *bytes,
                     struct leat_error *err) {
    struct leat_cache_schema whole = bytes_schema(schema);
    struct leat_block bare = *block;

    bare.columns = leat_arena_alloc(scratch, block->n_columns * sizeof(*bare.columns));
    if (!bare.columns)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_column *column = &block->columns[i];
        bool is_list = schema->plan->fields[i].is_list;

        bare.columns[i] =
            (struct leat_column){.values = is_list ? (void *)column->lengths : column->values};
    }
    return leat_cache_block_encode(&whole, &bare, bytes, err);
}

/* What order stages rely on: no row is longer than its field may be. */
static bool are_lengths(const struct leat_field *field, const uint32_t *lengths, uint32_t n_rows) {
    uint64_t limit = field->max_length ? field->max_length : INT32_MAX;

    if (field->is_padded && field->pad_length > 0 && field->pad_length < limit)
        limit = field->pad_length;
    for (uint32_t row = 0; row < n_rows; row++)
        if (lengths[row] > limit)
            return false;
    return true;
}

int leat_bare_decode(const struct leat_bare_schema *schema, const uint8_t *data, size_t n_bytes,
                     uint32_t n_records, struct leat_block *block, struct leat_error *err) {
    struct leat_cache_schema whole = bytes_schema(schema);
    int r = leat_cache_block_decode(&whole, data, n_bytes, n_records, block, err);

    for (uint32_t i = 0; r == 0 && i < block->n_columns; i++) {
        const struct leat_field *field = &schema->plan->fields[i];
        struct leat_column *column = &block->columns[i];

        if (!schema->is_kept[i] || !field->is_list)
            continue;
        *column = (struct leat_column){.lengths = column->values};
        if (!are_lengths(field, column->lengths, block->n_rows))
            r = leat_error_set(err, -EBADMSG, "a row of \"%s\" is longer than it may be",
                               field->name);
    }
    return r;
}

static bool is_of(const struct leat_field *field, const struct leat_column *bare,
                  const struct leat_column *column, uint32_t n_rows) {
    if (field->is_list)
        return memcmp(bare->lengths, column->lengths, n_rows * sizeof(uint32_t)) == 0;
    return memcmp(bare->values, column->values, n_rows * leat_dtype_size(field->dtype)) == 0;
}

bool leat_bare_is_of(const struct leat_bare_schema *schema, const struct leat_block *bare,
                     const struct leat_block *block) {
    if (bare->n_rows != block->n_rows || bare->n_bad != block->n_bad ||
        bare->n_columns != block->n_columns)
        return false;
    for (uint32_t i = 0; block->n_rows > 0 && i < block->n_columns; i++)
        if (schema->is_kept[i] &&
            !is_of(&schema->plan->fields[i], &bare->columns[i], &block->columns[i], block->n_rows))
            return false;
    return true;
}
