/* test_histogram.c: pipeline/run/histogram.c against sorted samples: number, sum, least and most
 * are exact, quantiles within the error that is stated, merging is as adding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/run/profile/histogram.h"
#include "tests/proto/shared_random.h"

#define N_MAX 3000

static int by_value(const void *a, const void *b) {
    uint64_t x, y;

    x = *(const uint64_t *)a;
    y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of all sizes: as many bits as chance gives, up to max_bits; some values come often. */
static void draw(uint64_t *random, uint64_t *values, size_t n, uint32_t max_bits) {
    for (size_t i = 0; i < n; i++) {
        uint64_t n_bits = random_below(random, max_bits) + 1;

        values[i] = random_next(random) >> (64 - n_bits);
        if (i > 0 && random_below(random, 4) == 0)
            values[i] = values[random_below(random, i)];
    }
}

static void add_all(struct leat_histogram *histogram, const uint64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        leat_histogram_add(histogram, values[i]);
}

static void check(const struct leat_histogram *histogram, uint64_t *values, size_t n) {
    static const double shares[] = {0, 0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    uint64_t total = 0;

    qsort(values, n, sizeof(*values), by_value);
    for (size_t i = 0; i < n; i++)
        total += values[i];
    assert_int_equal(histogram->n, n);
    assert_int_equal(histogram->total, total);
    assert_int_equal(histogram->min, values[0]);
    assert_int_equal(histogram->max, values[n - 1]);
    assert_int_equal(histogram->total, total);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        double rank = ceil(shares[i] * (double)n);
        uint64_t right = values[rank < 1 ? 0 : (size_t)rank - 1];
        uint64_t found = leat_histogram_quantile(histogram, shares[i]);
        uint64_t off = found > right ? found - right : right - found;

        assert_true(off <= right / LEAT_HISTOGRAM_ERROR);
        assert_true(found >= histogram->min && found <= histogram->max);
    }
}

static void test_quantiles(void **state) {
    uint64_t random = 1;
    uint64_t *values = malloc(N_MAX * sizeof(*values));

    (void)state;
    for (uint32_t round = 0; round < 300; round++) {
        struct leat_histogram histogram = {.n = 0};
        size_t n = random_below(&random, round % 3 ? 20 : N_MAX) + 1;

        draw(&random, values, n, round % 41 ? round % 41 : 1);
        add_all(&histogram, values, n);
        check(&histogram, values, n);
    }
    free(values);
}

static void test_each_small_value(void **state) {
    (void)state;
    for (uint64_t value = 0; value < 100000; value++) {
        struct leat_histogram histogram = {.n = 0};
        uint64_t found;

        leat_histogram_add(&histogram, 0);
        leat_histogram_add(&histogram, value);
        leat_histogram_add(&histogram, UINT64_MAX);
        found = leat_histogram_quantile(&histogram, 0.5);
        assert_true((found > value ? found - value : value - found) * LEAT_HISTOGRAM_ERROR <=
                    value);
    }
}

static void test_merge_is_as_adding(void **state) {
    uint64_t random = 2;
    uint64_t *values = malloc(N_MAX * sizeof(*values));

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct leat_histogram whole = {.n = 0}, sum = {.n = 0};
        size_t n = random_below(&random, N_MAX) + 1, from = 0;

        draw(&random, values, n, 40);
        add_all(&whole, values, n);
        while (from < n) {
            struct leat_histogram part = {.n = 0};
            size_t to = from + random_below(&random, n - from + 1);

            add_all(&part, values + from, to - from);
            leat_histogram_merge(&sum, &part);
            from = to;
        }
        assert_memory_equal(&sum, &whole, sizeof(sum));
    }
    free(values);
}

static void test_bounds(void **state) {
    struct leat_histogram histogram = {.n = 0};

    (void)state;
    assert_int_equal(leat_histogram_quantile(&histogram, 0.5), 0);
    leat_histogram_add(&histogram, UINT64_C(1) << 50);
    leat_histogram_add(&histogram, 5);
    leat_histogram_add(&histogram, 7);
    assert_int_equal(leat_histogram_quantile(&histogram, 1), UINT64_C(1) << 50);
    assert_int_equal(leat_histogram_quantile(&histogram, 0), 5);
    assert_int_equal(leat_histogram_quantile(&histogram, -1), 5);
    assert_int_equal(leat_histogram_quantile(&histogram, 0.5), 7);
    assert_int_equal(leat_histogram_quantile(&histogram, 2), UINT64_C(1) << 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_each_small_value),
        cmocka_unit_test(test_merge_is_as_adding),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
