/* The double array against a sorted list of its keys: random keys over small and large alphabets,
 * dense fan-outs, long chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/double_array.h"
#include "proto/base/rng.h"

#define NONE LEAT_DOUBLE_ARRAY_NONE

struct keys {
    struct leat_double_array_key *items;
    size_t n;
};

static int compare(const void *a, const void *b) {
    return leat_double_array_compare(a, b);
}

/* Sorts, drops equal ones, and numbers the rest. */
static void settle(struct keys *keys) {
    size_t n = 0;

    qsort(keys->items, keys->n, sizeof(*keys->items), compare);
    for (size_t i = 0; i < keys->n; i++)
        if (n == 0 || compare(&keys->items[n - 1], &keys->items[i]) != 0)
            keys->items[n++] = keys->items[i];
    keys->n = n;
    for (size_t i = 0; i < n; i++)
        keys->items[i].value = (uint32_t)(i * 7 + 1);
}

/* The value of the key that is exactly these bytes, or NONE. */
static uint32_t find(const struct leat_double_array *array, const uint8_t *bytes, size_t n_bytes) {
    uint32_t base = LEAT_DOUBLE_ARRAY_ROOT, node = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        node = base ^ bytes[i];
        if (array->nodes[node].check != base)
            return NONE;
        base = array->nodes[node].base;
    }
    return n_bytes ? array->values[node] : NONE;
}

static uint32_t look_up(const struct keys *keys, const uint8_t *bytes, size_t n_bytes) {
    struct leat_double_array_key key = {.bytes = bytes, .n_bytes = (uint32_t)n_bytes};
    const struct leat_double_array_key *found =
        bsearch(&key, keys->items, keys->n, sizeof(key), compare);

    return found ? found->value : NONE;
}

static void check(struct keys *keys, struct leat_rng *rng, uint64_t n_letters) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_double_array array;
    uint8_t bytes[64];

    settle(keys);
    assert_int_equal(leat_double_array_build(&array, keys->items, keys->n, &err), 0);
    for (size_t i = 0; i < keys->n; i++)
        assert_int_equal(find(&array, keys->items[i].bytes, keys->items[i].n_bytes),
                         keys->items[i].value);
    for (int i = 0; i < 3000; i++) {
        size_t n = leat_rng_below(rng, 12);

        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)leat_rng_below(rng, n_letters);
        assert_int_equal(find(&array, bytes, n), look_up(keys, bytes, n));
    }
    leat_double_array_deinit(&array);
}

static void check_random(size_t n_keys, uint64_t n_letters, uint64_t max_bytes, uint64_t seed) {
    struct leat_rng rng = {.state = seed};
    uint8_t *bytes = malloc(n_keys * max_bytes);
    struct keys keys = {.items = calloc(n_keys, sizeof(*keys.items)), .n = n_keys};
    uint8_t *at = bytes;

    for (size_t i = 0; i < n_keys; i++) {
        uint32_t n = 1 + (uint32_t)leat_rng_below(&rng, max_bytes);

        keys.items[i] = (struct leat_double_array_key){.bytes = at, .n_bytes = n};
        while (n--)
            *at++ = (uint8_t)leat_rng_below(&rng, n_letters);
    }
    check(&keys, &rng, n_letters);
    free(keys.items);
    free(bytes);
}

static void test_random_keys(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        check_random(1 + seed, 1 + seed % 3, 6, seed);
        check_random(500, 2, 10, seed);
        check_random(500, 256, 10, seed);
        check_random(3000, 26, 8, seed);
    }
}

static void test_dense(void **state) {
    (void)state;
    check_random(70000, 256, 2, 1); /* all pairs of bytes, nearly */
}

static void test_no_keys(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_double_array array;

    (void)state;
    assert_int_equal(leat_double_array_build(&array, NULL, 0, &err), 0);
    assert_int_equal(find(&array, (const uint8_t *)"a", 1), NONE);
    assert_int_equal(find(&array, (const uint8_t *)"", 0), NONE);
    leat_double_array_deinit(&array);
}

static void test_long_chain(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_double_array array;
    uint8_t *bytes = malloc(65535);
    struct leat_double_array_key key = {.bytes = bytes, .n_bytes = 65535, .value = 5};

    (void)state;
    for (size_t i = 0; i < 65535; i++)
        bytes[i] = (uint8_t)(i * i);
    assert_int_equal(leat_double_array_build(&array, &key, 1, &err), 0);
    assert_int_equal(find(&array, bytes, 65535), 5);
    assert_int_equal(find(&array, bytes, 65534), NONE);
    assert_true(array.n_nodes < 2 * 65535);
    leat_double_array_deinit(&array);
    free(bytes);
}

/* Free places are found: the array is not much larger than its nodes. */
static void test_density(void **state) {
    struct leat_rng rng = {.state = 3};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_double_array array;
    struct keys keys = {.items = calloc(30000, sizeof(*keys.items)), .n = 30000};
    uint8_t *bytes = malloc(30000 * 8), *at = bytes;

    (void)state;
    for (size_t i = 0; i < keys.n; i++, at += 8) {
        for (size_t k = 0; k < 8; k++)
            at[k] = (uint8_t)('a' + leat_rng_below(&rng, 1 + k * 3));
        keys.items[i] = (struct leat_double_array_key){.bytes = at, .n_bytes = 8};
    }
    settle(&keys);
    assert_int_equal(leat_double_array_build(&array, keys.items, keys.n, &err), 0);
    assert_true(array.n_nodes < array.n_order * 3 / 2 + 1024);
    leat_double_array_deinit(&array);
    free(keys.items);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_keys), cmocka_unit_test(test_dense),
        cmocka_unit_test(test_no_keys),     cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_density),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
