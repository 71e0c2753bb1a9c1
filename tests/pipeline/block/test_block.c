/* test_block.c: the pool of blocks: which wait, with their warm memory, to be used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/block/block.h"

#define N_MAX 100

/* How many of n blocks that are alive at once came with memory. */
static size_t take_and_give(struct leat_block_pool *pool, size_t n, size_t n_bytes) {
    struct leat_block *blocks[N_MAX];
    size_t n_warm = 0;

    for (size_t i = 0; i < n; i++) {
        blocks[i] = leat_block_pool_take(pool);
        assert_non_null(blocks[i]);
        n_warm += blocks[i]->kept.capacity_bytes > 0;
        assert_non_null(leat_arena_alloc(&blocks[i]->kept, n_bytes));
        leat_block_recount(blocks[i]);
    }
    assert_int_equal(pool->n_alive, n);
    for (size_t i = 0; i < n; i++)
        leat_block_unref(blocks[i], 1);
    assert_int_equal(pool->n_alive, 0);
    return n_warm;
}

/* A stage gathers many and lets go of all, over and over. */
static void test_tide(void **state) {
    struct leat_block_pool pool = {.max_free_bytes = UINT64_C(32) << 20};

    (void)state;
    assert_int_equal(take_and_give(&pool, 60, 1000), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(take_and_give(&pool, 60, 1000), 60);
    for (int i = 0; i < 1000; i++) /* and then no more */
        assert_int_equal(take_and_give(&pool, 1, 1000), 1);
    assert_in_range(pool.n_free, 1, 3);
    leat_block_pool_deinit(&pool);
    assert_int_equal(pool.n_free, 0);
}

/* Not of any size. */
static void test_large_tide(void **state) {
    struct leat_block_pool pool = {.max_free_bytes = UINT64_C(32) << 20};

    (void)state;
    for (int i = 0; i < 3; i++) {
        (void)take_and_give(&pool, N_MAX, 1 << 20);
        assert_in_range(pool.n_free_bytes, 16 << 20, 34 << 20);
    }
    leat_block_pool_deinit(&pool);
    assert_int_equal(pool.n_free_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tide),
        cmocka_unit_test(test_large_tide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
