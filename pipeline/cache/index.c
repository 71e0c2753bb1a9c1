#include "pipeline/cache/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *leat_index_folder(const struct leat_plan *plan, const char *given) {
    if (plan->cache_path || strcmp(plan->options.index, "off") == 0 || plan->mixing ||
        plan->is_one_pass || leat_plan_find_varying(plan))
        return NULL;
    if (plan->blocks.block_size > 0) /* no run makes it by the way */
        return plan->index_path;
    return plan->index_path ? plan->index_path : given;
}

bool leat_index_has_columns(const struct leat_plan *plan) {
    bool is_blind = leat_plan_fast_forward(plan).is_blind;

    for (size_t i = 0; is_blind && i < plan->n_order; i++)
        if (plan->order[i]->ops->evicts_above &&
            plan->order[i]->ops->evicts_above(plan->order[i]->config) > 0)
            return true;
    return !is_blind;
}

void leat_index_key(const struct leat_plan *plan, bool has_columns,
                    struct leat_cache_identity *identity) {
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    leat_blake2b_text(&state, has_columns ? "leat index 1, columns" : "leat index 1, rows");
    leat_blake2b_update(&state, identity->key, sizeof(identity->key));
    if (plan->blocks.block_size > 0) {
        leat_blake2b_u64(&state, plan->blocks.block_size);
        leat_blake2b_u64(&state, plan->blocks.n_lanes > 0);
    }
    leat_blake2b_final(&state, identity->key);
}

/* ---- blocks ---- */

int leat_index_schema_init(struct leat_index_schema *schema, const struct leat_plan *plan,
                           bool has_columns) {
    size_t n = plan->n_columns ? plan->n_columns : 1;

    *schema = (struct leat_index_schema){
        .plan = plan,
        .has_columns = has_columns,
        .fields = calloc(n, sizeof(*schema->fields)),
        .is_kept = calloc(n, sizeof(*schema->is_kept)),
    };
    if (!schema->fields || !schema->is_kept) {
        leat_index_schema_deinit(schema);
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

void leat_index_schema_deinit(struct leat_index_schema *schema) {
    free(schema->fields);
    free(schema->is_kept);
    *schema = (struct leat_index_schema){.plan = NULL};
}

static struct leat_cache_schema bytes_schema(const struct leat_index_schema *schema) {
    return (struct leat_cache_schema){
        .fields = schema->fields, .is_kept = schema->is_kept, .n_columns = schema->plan->n_columns};
}

int leat_index_block_encode(const struct leat_index_schema *schema, const struct leat_block *block,
                            struct leat_arena *scratch, struct leat_cache_bytes *bytes,
                            struct leat_error *err) {
    struct leat_cache_schema whole = bytes_schema(schema);
    struct leat_block kept = *block;

    kept.columns = leat_arena_alloc(scratch, block->n_columns * sizeof(*kept.columns));
    if (!kept.columns)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_column *column = &block->columns[i];
        bool is_list = schema->plan->fields[i].is_list;

        kept.columns[i] =
            (struct leat_column){.values = is_list ? (void *)column->lengths : column->values};
    }
    return leat_cache_block_encode(&whole, &kept, bytes, err);
}

/* Order stages rely on no row being longer than its field may be. */
static bool are_lengths(const struct leat_field *field, const uint32_t *lengths, uint32_t n_rows) {
    uint64_t limit = field->max_length ? field->max_length : INT32_MAX;

    if (field->is_padded && field->pad_length > 0 && field->pad_length < limit)
        limit = field->pad_length;
    for (uint32_t row = 0; row < n_rows; row++)
        if (lengths[row] > limit)
            return false;
    return true;
}

int leat_index_block_decode(const struct leat_index_schema *schema, const uint8_t *data,
                            size_t n_bytes, uint32_t n_records, struct leat_block *block,
                            struct leat_error *err) {
    struct leat_cache_schema whole = bytes_schema(schema);
    int r = leat_cache_block_decode(&whole, data, n_bytes, n_records, LEAT_CACHE_UNPACK,
                                    &block->kept, block, err);

    for (uint32_t i = 0; r == 0 && i < block->n_columns; i++) {
        const struct leat_field *field = &schema->plan->fields[i];
        struct leat_column *column = &block->columns[i];

        if (!schema->is_kept[i] || !field->is_list)
            continue;
        *column = (struct leat_column){.lengths = column->values};
        if (!are_lengths(field, column->lengths, block->n_rows))
            r = leat_error_set(err, -EBADMSG, "a row of \"%s\" is longer than the field allows",
                               field->name);
    }
    return r;
}

static bool is_of(const struct leat_field *field, const struct leat_column *kept,
                  const struct leat_column *column, uint32_t n_rows) {
    if (field->is_list)
        return memcmp(kept->lengths, column->lengths, n_rows * sizeof(uint32_t)) == 0;
    return memcmp(kept->values, column->values, n_rows * leat_dtype_size(field->dtype)) == 0;
}

bool leat_index_block_is_of(const struct leat_index_schema *schema, const struct leat_block *kept,
                            const struct leat_block *block) {
    if (kept->n_rows != block->n_rows || kept->n_bad != block->n_bad ||
        kept->n_columns != block->n_columns)
        return false;
    for (uint32_t i = 0; block->n_rows > 0 && i < block->n_columns; i++)
        if (schema->is_kept[i] &&
            !is_of(&schema->plan->fields[i], &kept->columns[i], &block->columns[i], block->n_rows))
            return false;
    return true;
}

static uint32_t record_of(const struct leat_block *block, uint32_t row) {
    return block->records ? block->records[row] : row;
}

static bool is_row_of(const struct leat_index_schema *schema, const struct leat_block *kept,
                      uint32_t kept_row, const struct leat_block *block, uint32_t row) {
    for (uint32_t i = 0; i < block->n_columns; i++) {
        const struct leat_column *is = &block->columns[i], *was = &kept->columns[i];
        size_t size = leat_dtype_size(schema->plan->fields[i].dtype);

        if (!schema->is_kept[i])
            continue;
        if (schema->plan->fields[i].is_list
                ? was->lengths[kept_row] != is->lengths[row]
                : memcmp((const uint8_t *)was->values + kept_row * size,
                         (const uint8_t *)is->values + row * size, size) != 0)
            return false;
    }
    return true;
}

bool leat_index_rows_are_of(const struct leat_index_schema *schema, const struct leat_block *kept,
                            const struct leat_block *block) {
    uint32_t at = 0;

    if (kept->n_columns != block->n_columns)
        return false;
    for (uint32_t row = 0; row < block->n_rows; row++) {
        uint32_t record = record_of(block, row);

        while (at < kept->n_rows && record_of(kept, at) < record)
            at++;
        if (at == kept->n_rows || record_of(kept, at) != record ||
            !is_row_of(schema, kept, at, block, row))
            return false;
    }
    return true;
}
