/* test_array.c: arrays grow, and stay as they were when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "proto/base/array.h"

static void test_growth(void **state) {
    uint32_t *items = NULL;
    size_t capacity = 0, n_grown = 0;

    (void)state;
    for (uint32_t n = 0; n < 100000; n++) {
        size_t before = capacity;

        assert_true(leat_array_reserve(&items, (size_t)n + 1, &capacity));
        assert_true(capacity > n);
        n_grown += capacity != before;
        items[n] = n;
    }
    assert_true(n_grown < 20);
    for (uint32_t n = 0; n < 100000; n++)
        assert_int_equal(items[n], n);
    assert_true(leat_array_reserve(&items, 1000000, &capacity));
    assert_true(capacity >= 1000000);
    assert_int_equal(items[99999], 99999);
    free(items);
}

static void test_large_items(void **state) {
    struct item {
        char bytes[1000];
    } *items = NULL;
    size_t capacity = 0;

    (void)state;
    assert_true(leat_array_reserve(&items, 1, &capacity));
    assert_int_equal(capacity, 1);
    assert_true(leat_array_reserve(&items, 0, &capacity));
    assert_int_equal(capacity, 1);
    free(items);
}

static void test_too_much(void **state) {
    uint64_t *items = NULL;
    size_t capacity = 0;

    (void)state;
    assert_true(leat_array_reserve(&items, 3, &capacity));
    items[2] = 7;
    assert_false(leat_array_reserve(&items, SIZE_MAX / 4, &capacity));
    assert_false(leat_array_reserve(&items, SIZE_MAX, &capacity));
    assert_int_equal(capacity, 8);
    assert_int_equal(items[2], 7);
    free(items);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_large_items),
        cmocka_unit_test(test_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
