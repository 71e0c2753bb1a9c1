/* test_block_fit.c: pipeline/block/fit.c, block/sparse.c: whatever a block is made of, its rows are
 * the same in memory that fits them; and those that are left, when others have gone. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/block/fit.h"
#include "pipeline/block/sparse.h"
#include "tests/pipeline/shared_stream.h"

enum { LIST, SCALAR, ALIAS, DEAD, OTHER, N_COLUMNS };

static const struct leat_field fields[N_COLUMNS] = {
    [LIST] = {.name = "list", .dtype = LEAT_DTYPE_INT32, .is_list = true},
    [SCALAR] = {.name = "scalar", .dtype = LEAT_DTYPE_INT64},
    [ALIAS] = {.name = "alias", .dtype = LEAT_DTYPE_INT32, .is_list = true},
    [DEAD] = {.name = "dead", .dtype = LEAT_DTYPE_INT32, .is_list = true},
    [OTHER] = {.name = "other", .dtype = LEAT_DTYPE_INT32, .is_list = true},
};
static const bool is_kept[N_COLUMNS] = {true, true, true, false, true};

static struct leat_rng rng = {.state = 11};

static uint32_t below(uint32_t n) {
    return (uint32_t)leat_rng_below(&rng, n);
}

static int32_t value_of(uint32_t column, uint32_t row, uint32_t i) {
    return (int32_t)(column * 1000000 + row * 1000 + i);
}

/* With gaps between the rows, and a long tail that no row has. */
static void make_list(struct leat_block *block, uint32_t c) {
    struct leat_column *column = &block->columns[c];
    uint32_t at = 0, most = 40 * block->n_rows + 60000;
    int32_t *values = leat_arena_alloc(&block->kept, most * sizeof(*values));

    column->values = values;
    column->starts = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    column->lengths = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    for (uint32_t row = 0; row < block->n_rows; row++) {
        at += below(4);
        column->starts[row] = at;
        column->lengths[row] = below(30);
        for (uint32_t i = 0; i < column->lengths[row]; i++)
            values[at + i] = value_of(c, row, i);
        at += column->lengths[row];
    }
}

/* Of each row of `list` all but its first element. */
static void make_alias(struct leat_block *block) {
    const struct leat_column *list = &block->columns[LIST];
    struct leat_column *alias = &block->columns[ALIAS];

    alias->values = list->values;
    alias->starts = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    alias->lengths = leat_arena_alloc(&block->kept, block->n_rows * sizeof(uint32_t));
    for (uint32_t row = 0; row < block->n_rows; row++) {
        alias->starts[row] = list->starts[row] + 1;
        alias->lengths[row] = list->lengths[row] > 0 ? list->lengths[row] - 1 : 0;
    }
}

static void make_bad(struct leat_block *block) {
    char *text = leat_arena_alloc(&block->kept, 100);

    block->n_bad = 2;
    block->bad = leat_arena_alloc(&block->kept, 2 * sizeof(*block->bad));
    block->bad[0] = (struct leat_bad_record){.record = 1, .message = strcpy(text, "is no number")};
    block->bad[1] = (struct leat_bad_record){.record = 2,
                                             .message = text,
                                             .field = strcpy(text + 50, "Age"),
                                             .stage = "cast",
                                             .bytes = (const uint8_t *)text + 3,
                                             .n_bytes = 7};
}

static struct leat_block *make_block(struct leat_block_pool *pool, uint32_t n_rows,
                                     bool has_alias) {
    struct leat_block *block = leat_block_pool_take(pool);
    int64_t *scalars;

    block->n_rows = n_rows;
    block->n_records = 2 * n_rows;
    block->n_columns = N_COLUMNS;
    block->columns = leat_arena_alloc(&block->kept, N_COLUMNS * sizeof(*block->columns));
    memset(block->columns, 0, N_COLUMNS * sizeof(*block->columns));
    make_list(block, LIST);
    make_list(block, OTHER);
    make_list(block, DEAD);
    if (has_alias)
        make_alias(block);
    else
        make_list(block, ALIAS);
    scalars = block->columns[SCALAR].values =
        leat_arena_alloc(&block->kept, n_rows * sizeof(*scalars));
    block->records = leat_arena_alloc(&block->kept, n_rows * sizeof(*block->records));
    for (uint32_t row = 0; row < n_rows; row++) {
        scalars[row] = value_of(SCALAR, row, 0);
        block->records[row] = 2 * row + 1;
    }
    make_bad(block);
    leat_block_recount(block);
    return block;
}

static void check_row(const struct leat_block *block, uint32_t row, bool has_alias) {
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        const struct leat_column *column = &block->columns[c];
        bool is_alias = c == ALIAS && has_alias;

        if (!fields[c].is_list || !is_kept[c])
            continue;
        for (uint32_t i = 0; i < column->lengths[row]; i++)
            assert_int_equal(((int32_t *)column->values)[column->starts[row] + i],
                             value_of(is_alias ? LIST : c, row, i + is_alias));
    }
    assert_int_equal(((int64_t *)block->columns[SCALAR].values)[row], value_of(SCALAR, row, 0));
    assert_int_equal(block->records[row], 2 * row + 1);
}

static void check_bad(const struct leat_block *block) {
    assert_int_equal(block->n_bad, 2);
    assert_string_equal(block->bad[0].message, "is no number");
    assert_null(block->bad[0].field);
    assert_string_equal(block->bad[1].field, "Age");
    assert_string_equal(block->bad[1].stage, "cast");
    assert_memory_equal(block->bad[1].bytes, "no numb", 7);
}

static void fit(struct leat_block *block, struct leat_arena *spare) {
    struct leat_arena scratch;

    assert_int_equal(leat_arena_init_exact(&scratch, leat_block_fit_scratch(block)), 0);
    leat_block_fit(block, fields, is_kept, &scratch, spare);
    assert_int_equal(scratch.capacity_bytes, leat_block_fit_scratch(block)); /* no more */
    leat_arena_deinit(&scratch);
}

static void test_rows_are_the_same(void **state) {
    struct leat_block_pool pool = {.free = NULL};
    struct leat_arena spare;

    (void)state;
    leat_arena_init(&spare);
    for (int round = 0; round < 30; round++) {
        bool has_alias = below(2);
        struct leat_block *block = make_block(&pool, below(round < 3 ? 2 : 500), has_alias);
        size_t before = block->kept.capacity_bytes;

        leat_arena_reset(&spare);
        fit(block, &spare);
        assert_int_equal(spare.capacity_bytes, before); /* the next is made in it */
        assert_true(block->kept.capacity_bytes <= 2 * block->kept.n_bytes);
        assert_true(block->kept.n_bytes < block->n_rows * 33 * 12 + 4096);
        leat_arena_reset(&spare);
        memset(leat_arena_alloc(&spare, 1000), 0xee, 1000);
        for (uint32_t row = 0; row < block->n_rows; row++)
            check_row(block, row, has_alias);
        check_bad(block);
        assert_null(block->columns[DEAD].values);
        leat_block_unref(block, 1);
    }
    leat_arena_deinit(&spare);
    leat_block_pool_deinit(&pool);
}

/* The rows leave in any order; those that are left are as they were, in less and less memory. */
static void leave(struct leat_block *block, bool has_alias) {
    uint32_t order[600], n = block->n_rows, n_thinned = 0;
    uint64_t before = block->counted_bytes;

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (; n > 1; n--) {
        uint32_t drawn = below(n), row = order[drawn];

        order[drawn] = order[n - 1];
        leat_block_mark_gone(block, row);
        if (!leat_block_is_sparse(block))
            continue;
        leat_block_thin(block, fields, is_kept);
        n_thinned++;
        for (uint32_t i = 0; i + 1 < n; i++)
            check_row(block, order[i], has_alias);
        check_bad(block);
    }
    assert_true(n_thinned > 0);
    assert_true(block->counted_bytes < (has_alias ? before : before / 2)); /* shared ones stay */
}

static void test_rows_that_are_left_stay(void **state) {
    struct leat_block_pool pool = {.free = NULL};
    struct leat_block *blocks[60];

    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        struct leat_arena spare;

        leat_arena_init(&spare);
        blocks[i] = make_block(&pool, 400 + below(200), i % 2);
        fit(blocks[i], &spare);
        leat_arena_deinit(&spare);
        leat_block_recount(blocks[i]);
    }
    for (uint32_t i = 0; i < 30; i++)
        leave(blocks[i], i % 2);
    for (uint32_t i = 0; i < 60; i++)
        leat_block_unref(blocks[i], 1);
    leat_block_pool_deinit(&pool);
}

static void test_who_is_left_alone(void **state) {
    struct leat_block_pool pool = {.free = NULL};
    struct leat_block *blocks[60];

    (void)state;
    for (uint32_t i = 0; i < 60; i++)
        blocks[i] = make_block(&pool, 100, false);
    blocks[0]->is_shared = true;
    blocks[1]->is_held = true;
    blocks[2]->n_pins = 1;
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t row = 0; row < 90; row++)
            leat_block_mark_gone(blocks[i], row);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(leat_block_is_sparse(blocks[i]), i == 3);
    blocks[2]->n_pins = 0;
    assert_true(leat_block_is_sparse(blocks[2]));
    for (uint32_t i = 0; i < 60; i++)
        leat_block_unref(blocks[i], 1);
    leat_block_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_the_same),
        cmocka_unit_test(test_rows_that_are_left_stay),
        cmocka_unit_test(test_who_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
