/* shared_cache.c: see shared_cache.h. */
#include "tests/pipeline/shared_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/shared_random.h"

/* What a block's numbers have in common: few or many bits, below zero or not. */
static int64_t random_number(uint64_t *random, unsigned style) {
    static const int64_t bases[] = {0, 0, -100, 70000, INT32_MIN, INT64_MIN, INT64_MAX - 1000};
    unsigned bits = (unsigned)(style / 7 % 8) * 8 + 1;
    uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;

    return (int64_t)((uint64_t)bases[style % 7] + (random_next(random) & mask));
}

static void fill_values(const struct leat_field *field, void *values, size_t n, uint64_t *random) {
    size_t size = leat_dtype_size(field->dtype);
    unsigned style = (unsigned)random_below(random, 56);
    uint8_t *at = values;

    for (size_t i = 0; i < n; i++, at += size) {
        int64_t number = random_number(random, style);

        if (field->dtype == LEAT_DTYPE_BOOL)
            number &= 1;
        memcpy(at, &number, size);
    }
}

static void make_list(const struct leat_field *field, struct leat_block *block,
                      struct leat_column *column, uint64_t *random) {
    uint32_t n_elements = (uint32_t)random_below(random, 3000), at = 0;
    bool is_shuffled = random_below(random, 2);
    uint64_t longest = random_below(random, 8) == 0 ? 3000 : random_below(random, 60);

    column->values = leat_arena_alloc(&block->kept, n_elements * leat_dtype_size(field->dtype));
    column->starts = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    column->lengths = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    fill_values(field, column->values, n_elements, random);
    for (uint32_t row = 0; row < block->n_rows; row++) {
        uint32_t n = (uint32_t)random_below(random, longest + 1);

        if (is_shuffled)
            at = (uint32_t)random_below(random, n_elements + 1);
        column->lengths[row] = n < n_elements - at ? n : n_elements - at;
        column->starts[row] = column->lengths[row] ? at : (uint32_t)random_next(random);
        at += column->lengths[row];
    }
}

static void make_bad(struct leat_block *block, struct leat_bad_record *bad, uint32_t record,
                     uint64_t *random) {
    static const char *const texts[] = {"Age", "a longer text than that", "", "x"};
    size_t n = random_below(random, 100);
    uint8_t *bytes = leat_arena_alloc(&block->kept, n + 1);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)random_next(random);
    *bad = (struct leat_bad_record){.record = record,
                                    .column = (uint32_t)random_below(random, 9),
                                    .line = random_next(random),
                                    .offset = random_next(random),
                                    .n_bytes = (uint32_t)n,
                                    .message = texts[random_below(random, 4)]};
    bad->bytes = random_below(random, 3) ? bytes : NULL;
    bad->field = random_below(random, 2) ? texts[random_below(random, 4)] : NULL;
    bad->stage = random_below(random, 2) ? "cast" : NULL;
}

static void make_rows(struct leat_block *block, uint64_t *random) {
    uint64_t style = random_below(random, 4);

    block->n_records = 1 + (uint32_t)random_below(random, 300);
    block->records = leat_arena_alloc(&block->kept, block->n_records * sizeof(uint32_t));
    block->bad = leat_arena_alloc(&block->kept, block->n_records * sizeof(*block->bad));
    for (uint32_t record = 0; record < block->n_records; record++) {
        uint64_t fate = style == 0 ? 9 : style == 1 ? 0 : random_below(random, 10);

        if (fate == 0)
            make_bad(block, &block->bad[block->n_bad++], record, random);
        else if (fate > 1)
            block->records[block->n_rows++] = record;
    }
    if (block->n_rows == block->n_records)
        block->records = NULL;
}

void cached_init(struct cached *cached, uint64_t *random) {
    uint32_t n_columns = (uint32_t)random_below(random, CACHE_COLUMNS_MAX + 1);

    *cached = (struct cached){.schema = {.n_columns = n_columns}};
    cached->schema.fields = cached->fields;
    cached->schema.is_kept = cached->is_kept;
    cached->block = leat_block_pool_take(&cached->pool);
    make_rows(cached->block, random);
    cached->block->n_columns = n_columns;
    cached->block->columns =
        leat_arena_alloc(&cached->block->kept, n_columns * sizeof(struct leat_column));
    for (uint32_t i = 0; i < n_columns; i++) {
        struct leat_field *field = &cached->fields[i];
        struct leat_column *column = &cached->block->columns[i];

        *column = (struct leat_column){.values = NULL};
        (void)snprintf(field->name, sizeof(field->name), "f%u", i);
        field->dtype = (enum leat_dtype)(1 + random_below(random, LEAT_N_DTYPES - 1));
        field->is_list = field->dtype == LEAT_DTYPE_TEXT || random_below(random, 2);
        cached->is_kept[i] = random_below(random, 5) > 0;
        if (!cached->is_kept[i])
            continue;
        if (field->is_list) {
            make_list(field, cached->block, column, random);
            continue;
        }
        column->values = leat_arena_alloc(&cached->block->kept,
                                          cached->block->n_rows * leat_dtype_size(field->dtype));
        fill_values(field, column->values, cached->block->n_rows, random);
    }
}

void cached_deinit(struct cached *cached) {
    leat_block_unref(cached->block, 1);
    leat_block_pool_deinit(&cached->pool);
}

static void assert_same_text(const char *a, const char *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_bad(const struct leat_bad_record *a, const struct leat_bad_record *b) {
    assert_int_equal(a->record, b->record);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->n_bytes, b->n_bytes);
    assert_same_text(a->field, b->field);
    assert_same_text(a->stage, b->stage);
    assert_same_text(a->message, b->message);
    assert_true((a->bytes == NULL) == (b->bytes == NULL));
    if (a->bytes && a->n_bytes > 0)
        assert_memory_equal(a->bytes, b->bytes, a->n_bytes);
}

static const uint8_t *at(const struct leat_column *column, uint32_t index, size_t size) {
    return (const uint8_t *)column->values + index * size;
}

static void assert_same_column(const struct leat_field *field, const struct leat_column *a,
                               const struct leat_column *b, uint32_t n_rows) {
    size_t size = leat_dtype_size(field->dtype);

    if (!field->is_list) {
        if (n_rows > 0)
            assert_memory_equal(a->values, b->values, n_rows * size);
        return;
    }
    for (uint32_t row = 0; row < n_rows; row++) {
        assert_int_equal(a->lengths[row], b->lengths[row]);
        if (a->lengths[row] > 0)
            assert_memory_equal(at(a, a->starts[row], size), at(b, b->starts[row], size),
                                a->lengths[row] * size);
    }
}

void assert_same_block(const struct leat_cache_schema *schema, const struct leat_block *a,
                       const struct leat_block *b) {
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_records, b->n_records);
    assert_int_equal(a->n_columns, b->n_columns);
    assert_int_equal(a->n_bad, b->n_bad);
    assert_true((a->records == NULL) == (b->records == NULL));
    if (a->records && a->n_rows > 0)
        assert_memory_equal(a->records, b->records, a->n_rows * sizeof(uint32_t));
    for (uint32_t i = 0; i < a->n_bad; i++)
        assert_same_bad(&a->bad[i], &b->bad[i]);
    for (uint32_t i = 0; i < schema->n_columns; i++)
        if (schema->is_kept[i])
            assert_same_column(&schema->fields[i], &a->columns[i], &b->columns[i], a->n_rows);
}

const uint8_t *cached_keep(struct leat_block *block, const void *bytes, size_t n_bytes) {
    uint8_t *kept = leat_arena_alloc(&block->kept, n_bytes);

    assert_non_null(kept);
    if (n_bytes > 0)
        memcpy(kept, bytes, n_bytes);
    return kept;
}
