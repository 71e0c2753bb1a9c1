/* fuzz_index.c: bytes as what an index keeps of a block: whatever is accepted can be looked
 * at as order stages do. The first byte picks the columns. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static struct leat_field fields[] = {
    {.name = "ids", .dtype = LEAT_DTYPE_INT32, .is_list = true, .max_length = 100},
    {.name = "hash", .dtype = LEAT_DTYPE_INT64},
    {.name = "mark", .dtype = LEAT_DTYPE_BOOL},
    {.name = "text", .dtype = LEAT_DTYPE_TEXT, .is_list = true},
    {.name = "padded",
     .dtype = LEAT_DTYPE_INT32,
     .is_list = true,
     .is_padded = true,
     .pad_length = 7},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static volatile uint64_t sum;

static void touch(const struct leat_index_schema *schema, const struct leat_block *block) {
    for (uint32_t row = 0; row < block->n_rows; row++) {
        sum += leat_block_record(block, row);
        for (uint32_t i = 0; i < block->n_columns; i++) {
            const struct leat_column *column = &block->columns[i];

            if (!schema->is_kept[i])
                continue;
            if (!fields[i].is_list)
                sum += ((const uint8_t *)column->values)[row * leat_dtype_size(fields[i].dtype)];
            else if ((i == 0 && column->lengths[row] > 100) ||
                     (i == 4 && column->lengths[row] > 7) || column->lengths[row] > INT32_MAX)
                abort();
        }
    }
    if (!leat_index_block_is_of(schema, block, block))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    bool is_kept[N_FIELDS];
    struct leat_plan plan = {.fields = fields, .is_kept = is_kept, .n_columns = N_FIELDS};
    struct leat_block_pool pool = {.free = NULL};
    struct leat_index_schema schema;
    struct leat_block *block;
    uint32_t n_records;
    uint8_t *copy;

    if (n_bytes < 9)
        return 0;
    for (size_t i = 0; i < N_FIELDS; i++)
        is_kept[i] = data[0] >> i & 1;
    if (leat_index_schema_init(&schema, &plan, true) < 0)
        abort();
    block = leat_block_pool_take(&pool);
    data++;
    n_bytes--;
    copy = block ? leat_arena_alloc(&block->kept, n_bytes) : NULL;
    if (!copy)
        abort();
    memcpy(copy, data, n_bytes);
    memcpy(&n_records, data + 4, sizeof(n_records));
    if (leat_index_block_decode(&schema, copy, n_bytes, n_records, block, LEAT_ERROR_IGNORED) == 0)
        touch(&schema, block);
    leat_block_unref(block, 1);
    leat_block_pool_deinit(&pool);
    leat_index_schema_deinit(&schema);
    return 0;
}
