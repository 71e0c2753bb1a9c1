/* test_values.c: pipeline/stages/tokenize/values.c: whatever is expected and whatever comes, the
 * values of a block are those that were pushed, and what else is in the arena stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/stages/tokenize/values.h"
#include "proto/base/rng.h"

static void push_row(struct leat_values *values, size_t n, int32_t *next) {
    assert_int_equal(leat_values_reserve(values, n), 0);
    assert_true(values->capacity - values->n >= n);
    for (size_t i = 0; i < n; i++)
        leat_values_push(values, (*next)++);
}

static void check_block(struct leat_values *values, struct leat_arena *arena, struct leat_rng *rng,
                        bool is_alone) {
    size_t n_bytes = leat_rng_below(rng, 300000), n_rows = leat_rng_below(rng, 40);
    size_t longest = 1 + leat_rng_below(rng, leat_rng_below(rng, 5) ? 3000 : 30000);
    uint8_t *before = leat_arena_alloc(arena, 100), *between = NULL;
    int32_t first = (int32_t)leat_rng_below(rng, 1000), next = first, *kept;

    assert_non_null(before);
    memset(before, 0x11, 100);
    leat_values_begin(values, is_alone ? arena : NULL, n_bytes);
    for (size_t row = 0; row < n_rows; row++) {
        push_row(values, leat_rng_below(rng, longest), &next);
        if (leat_rng_below(rng, 100) > 0)
            continue;
        assert_int_equal(leat_values_leave(values), 0);
        between = leat_arena_alloc(arena, 1000);
        assert_non_null(between);
        memset(between, 0x22, 1000);
    }
    kept = leat_values_end(values, arena, n_bytes);
    assert_non_null(kept);
    memset(leat_arena_alloc(arena, 200), 0x33, 200);
    assert_int_equal(values->n, next - first);
    for (size_t i = 0; i < values->n; i++)
        assert_int_equal(kept[i], first + (int32_t)i);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(before[i], 0x11);
    for (size_t i = 0; between && i < 1000; i++)
        assert_int_equal(between[i], 0x22);
}

static void blocks_have_what_was_pushed(void **state) {
    struct leat_rng rng = {.state = 1};
    struct leat_values values = {.memory = NULL};
    struct leat_arena arena;

    (void)state;
    leat_arena_init(&arena);
    for (int i = 0; i < 300; i++) {
        check_block(&values, &arena, &rng, i % 5 > 0);
        if (leat_rng_below(&rng, 3))
            leat_arena_reset(&arena);
    }
    leat_values_deinit(&values);
    leat_arena_deinit(&arena);
}

/* Blocks that are like those before them are not copied. */
static void what_is_expected_stays(void **state) {
    struct leat_values values = {.memory = NULL};
    struct leat_arena arena;
    int32_t next = 0;

    (void)state;
    leat_arena_init(&arena);
    for (int i = 0; i < 20; i++) {
        const int32_t *items;

        leat_arena_reset(&arena);
        leat_values_begin(&values, &arena, 256 << 10);
        for (int row = 0; row < 40; row++)
            push_row(&values, 2000 + (size_t)(i % 3) * 10, &next);
        items = values.items;
        assert_true((values.items != values.memory) == (i > 0));
        assert_true((leat_values_end(&values, &arena, 256 << 10) == items) == (i > 0));
        assert_int_equal(arena.n_bytes, values.n * sizeof(int32_t));
    }
    leat_values_deinit(&values);
    leat_arena_deinit(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_what_was_pushed),
        cmocka_unit_test(what_is_expected_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
