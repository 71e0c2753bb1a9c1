/* fuzz_cache_block.c: bytes as a cached block: whatever is accepted can be read to its last
 * element, and is written as the same rows again. The first byte picks the schema. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const struct leat_field fields[] = {
    {.name = "ids", .dtype = LEAT_DTYPE_INT32, .is_list = true, .max_length = 100},
    {.name = "label", .dtype = LEAT_DTYPE_INT64},
    {.name = "mark", .dtype = LEAT_DTYPE_BOOL},
    {.name = "text", .dtype = LEAT_DTYPE_TEXT, .is_list = true},
    {.name = "weights", .dtype = LEAT_DTYPE_FLOAT64, .is_list = true},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static volatile uint8_t sum;

static void touch(const void *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
}

static void touch_column(const struct leat_field *field, const struct leat_column *column,
                         uint32_t n_rows) {
    size_t size = leat_dtype_size(field->dtype);

    if (!field->is_list)
        touch(column->values, n_rows * size);
    for (uint32_t row = 0; field->is_list && row < n_rows; row++) {
        if (field->max_length > 0 && column->lengths[row] > field->max_length)
            abort();
        touch((const uint8_t *)column->values + column->starts[row] * size,
              column->lengths[row] * size);
    }
}

static void touch_block(const struct leat_cache_schema *schema, const struct leat_block *block) {
    struct leat_cache_bytes bytes = {.data = NULL};

    for (uint32_t i = 0; i < schema->n_columns; i++)
        if (schema->is_kept[i])
            touch_column(&fields[i], &block->columns[i], block->n_rows);
    for (uint32_t i = 0; i < block->n_bad; i++) {
        touch(block->bad[i].message, strlen(block->bad[i].message));
        touch(block->bad[i].bytes, block->bad[i].bytes ? block->bad[i].n_bytes : 0);
    }
    for (uint32_t row = 0; block->records && row < block->n_rows; row++)
        if (block->records[row] >= block->n_records)
            abort();
    if (leat_cache_block_encode(schema, block, &bytes, LEAT_ERROR_IGNORED) < 0)
        abort();
    leat_cache_bytes_deinit(&bytes);
}

/* Row by row the block has the values that it has as a whole. */
static void compare_column(const struct leat_field *field, const struct leat_column *whole,
                           const struct leat_column *column, uint32_t n_rows) {
    size_t size = leat_dtype_size(field->dtype);

    for (uint32_t row = 0; row < n_rows; row++) {
        size_t first = field->is_list ? whole->starts[row] : row;
        size_t n = field->is_list ? whole->lengths[row] : 1;
        uint8_t *values = malloc(n * size + 1);

        if (!values ||
            (field->is_list && (column->lengths[row] != n || column->starts[row] != first)))
            abort();
        leat_cache_copy(column, field->dtype, first, n, values);
        if (n > 0 && memcmp(values, (const uint8_t *)whole->values + first * size, n * size) != 0)
            abort();
        free(values);
    }
}

/* `whole` is NULL if the bytes are no block. */
static void open_in_part(const struct leat_cache_schema *schema, const uint8_t *data,
                         size_t n_bytes, uint32_t n_records, enum leat_cache_packed packed,
                         const struct leat_block *whole) {
    struct leat_block block = {.n_refs = 1};
    struct leat_arena arena;
    bool is_block;

    leat_arena_init(&arena);
    is_block = leat_cache_block_decode(schema, data, n_bytes, n_records, packed, &arena, &block,
                                       LEAT_ERROR_IGNORED) == 0;
    if (is_block != (whole != NULL) || (whole && block.n_rows != whole->n_rows))
        abort();
    for (uint32_t i = 0; is_block && i < schema->n_columns; i++)
        if (schema->is_kept[i])
            compare_column(&fields[i], &whole->columns[i], &block.columns[i], block.n_rows);
    leat_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    bool is_kept[N_FIELDS];
    struct leat_cache_schema schema = {fields, is_kept, N_FIELDS};
    struct leat_block_pool pool = {.free = NULL};
    struct leat_block *block;
    uint32_t n_records;
    bool is_block;
    uint8_t *copy;

    if (n_bytes < 9)
        return 0;
    for (size_t i = 0; i < N_FIELDS; i++)
        is_kept[i] = data[0] >> i & 1;
    block = leat_block_pool_take(&pool);
    data++;
    n_bytes--;
    copy = block ? leat_arena_alloc(&block->kept, n_bytes) : NULL;
    if (!copy)
        abort();
    memcpy(copy, data, n_bytes);
    memcpy(&n_records, data + 4, sizeof(n_records));
    is_block = leat_cache_block_decode(&schema, copy, n_bytes, n_records, LEAT_CACHE_UNPACK,
                                       &block->kept, block, LEAT_ERROR_IGNORED) == 0;
    if (is_block)
        touch_block(&schema, block);
    open_in_part(&schema, copy, n_bytes, n_records, LEAT_CACHE_PACK_LISTS, is_block ? block : NULL);
    open_in_part(&schema, copy, n_bytes, n_records, LEAT_CACHE_PACK_ALL, is_block ? block : NULL);
    leat_block_unref(block, 1);
    leat_block_pool_deinit(&pool);
    return 0;
}
