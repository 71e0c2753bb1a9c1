/* test_arena.c: pipeline/memory/arena.c: memory that does not overlap, is aligned, stays warm, and
 * is given back where it was much. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/memory/arena.h"
#include "tests/pipeline/shared_stream.h"

#define N_PARTS 400

struct part {
    uint8_t *bytes;
    size_t n;
};

static struct leat_rng rng = {.state = 5};

static size_t draw_size(void) {
    size_t n = leat_rng_below(&rng, 20) == 0 ? 600000 : leat_rng_below(&rng, 2) ? 5000 : 100;

    return (size_t)leat_rng_below(&rng, n);
}

static struct part take(struct leat_arena *arena) {
    struct part part = {.n = draw_size()};

    if (leat_rng_below(&rng, 4) > 0) {
        part.bytes = leat_arena_alloc(arena, part.n);
    } else { /* asks for much, keeps less */
        size_t size, wanted = part.n + (size_t)leat_rng_below(&rng, 10000);

        part.bytes = leat_arena_reserve(arena, wanted, &size);
        assert_true(size >= wanted);
        memset(part.bytes, 0xee, wanted);
        leat_arena_commit(arena, part.n);
    }
    assert_non_null(part.bytes);
    assert_int_equal((uintptr_t)part.bytes % 64, 0);
    return part;
}

static void test_parts_do_not_overlap(void **state) {
    struct leat_arena arena;
    struct part parts[N_PARTS];

    (void)state;
    leat_arena_init(&arena);
    for (int round = 0; round < 20; round++) {
        size_t n_bytes = 0;

        for (size_t i = 0; i < N_PARTS; i++) {
            parts[i] = take(&arena);
            memset(parts[i].bytes, (int)(i % 251), parts[i].n);
            n_bytes += parts[i].n;
        }
        for (size_t i = 0; i < N_PARTS; i++)
            for (size_t k = 0; k < parts[i].n; k++)
                assert_true(parts[i].bytes[k] == i % 251);
        assert_int_equal(arena.n_bytes, n_bytes);
        leat_arena_reset(&arena);
        assert_int_equal(arena.n_bytes, 0);
    }
    leat_arena_deinit(&arena);
}

static void test_warm_arena_asks_for_nothing(void **state) {
    struct leat_arena arena;
    size_t capacity = 0;

    (void)state;
    leat_arena_init(&arena);
    for (int round = 0; round < 10; round++) {
        rng.state = 9; /* the same needs each time */
        for (size_t i = 0; i < N_PARTS; i++)
            (void)take(&arena);
        if (round > 0)
            assert_int_equal(arena.capacity_bytes, capacity);
        capacity = arena.capacity_bytes;
        leat_arena_reset(&arena);
    }
    leat_arena_deinit(&arena);
}

static void test_much_is_given_back(void **state) {
    struct leat_arena arena;

    (void)state;
    leat_arena_init(&arena);
    assert_non_null(leat_arena_alloc(&arena, 100));
    assert_non_null(leat_arena_alloc(&arena, LEAT_ARENA_KEEP_BYTES + 1));
    assert_non_null(leat_arena_alloc(&arena, 100));
    leat_arena_reset(&arena);
    assert_true(arena.capacity_bytes <= LEAT_ARENA_KEEP_BYTES);
    assert_non_null(leat_arena_alloc(&arena, 100));
    leat_arena_deinit(&arena);
    assert_int_equal(arena.capacity_bytes, 0);
}

static void test_nothing_and_too_much(void **state) {
    struct leat_arena arena;

    (void)state;
    leat_arena_init(&arena);
    assert_non_null(leat_arena_alloc(&arena, 0));
    assert_null(leat_arena_alloc(&arena, SIZE_MAX));
    assert_null(leat_arena_alloc(&arena, SIZE_MAX - 64));
    assert_non_null(leat_arena_alloc(&arena, 1)); /* and goes on */
    leat_arena_deinit(&arena);
    leat_arena_reset(&arena); /* of an empty one */
    leat_arena_deinit(&arena);
}

static void test_fits_what_is_asked_for(void **state) {
    struct leat_arena arena;
    uint8_t *first;

    (void)state;
    leat_arena_init(&arena);
    assert_int_equal(leat_arena_fit(&arena, 100000), 0);
    first = leat_arena_alloc(&arena, 100000);
    leat_arena_reset(&arena);
    assert_int_equal(leat_arena_fit(&arena, 99000), 0); /* it has that */
    assert_ptr_equal(leat_arena_alloc(&arena, 99000), first);
    leat_arena_reset(&arena);
    assert_int_equal(leat_arena_fit(&arena, 1000), 0);
    assert_true(arena.capacity_bytes < 2000);
    assert_int_equal(leat_arena_fit(&arena, SIZE_MAX / 2), -ENOMEM);
    assert_int_equal(arena.capacity_bytes, 0);
    leat_arena_deinit(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_do_not_overlap),
        cmocka_unit_test(test_warm_arena_asks_for_nothing),
        cmocka_unit_test(test_much_is_given_back),
        cmocka_unit_test(test_nothing_and_too_much),
        cmocka_unit_test(test_fits_what_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
