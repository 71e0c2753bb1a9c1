/* test_bench_statistics.c: medians, spreads and ratios of few values, against their definitions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/bench/statistics.h"
#include "tests/proto/shared_random.h"

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}

static void test_few(void **state) {
    const double values[] = {3, 1, 2, 10};
    struct leat_bench_summary summary = leat_bench_summarise(values, 0);

    (void)state;
    assert_int_equal(summary.n_values, 0);
    assert_true(isnan(summary.median));
    assert_true(is_near(leat_bench_spread(&summary), 0));
    summary = leat_bench_summarise(values, 1);
    assert_true(is_near(summary.median, 3) && is_near(summary.low, 3) && is_near(summary.high, 3));
    assert_true(is_near(leat_bench_spread(&summary), 0));
    summary = leat_bench_summarise(values, 3);
    assert_true(is_near(summary.median, 2));
    summary = leat_bench_summarise(values, 4);
    assert_true(is_near(summary.median, 2.5) && is_near(summary.low, 1) &&
                is_near(summary.high, 10));
    assert_true(is_near(leat_bench_spread(&summary), 3.6));
}

static void test_not_numbers(void **state) {
    const double values[] = {NAN, 5, INFINITY, 7};
    const double zeros[] = {0, 0};
    struct leat_bench_summary summary = leat_bench_summarise(values, 4);

    (void)state;
    assert_int_equal(summary.n_values, 2);
    assert_true(is_near(summary.median, 6));
    summary = leat_bench_summarise(zeros, 2);
    assert_true(is_near(leat_bench_spread(&summary), 0));
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Whatever the order, the median is that of the sorted values. */
static void test_any(void **state) {
    uint64_t rng = 1;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        double values[LEAT_BENCH_REPEAT_MAX];
        size_t n = random_below(&rng, LEAT_BENCH_REPEAT_MAX) + 1;
        struct leat_bench_summary summary;

        for (size_t i = 0; i < n; i++)
            values[i] = (double)random_below(&rng, 1000) - 300;
        summary = leat_bench_summarise(values, n);
        qsort(values, n, sizeof(values[0]), compare);
        assert_true(is_near(summary.low, values[0]) && is_near(summary.high, values[n - 1]));
        assert_true(is_near(summary.median, (values[(n - 1) / 2] + values[n / 2]) / 2));
    }
}

static void test_ratios(void **state) {
    const double a[] = {10, 20, 0, 40, NAN}, b[] = {11, 24, 5, 44, 1};
    const double c[] = {9, 21, 1, 40, 1};
    struct leat_bench_summary ratios = leat_bench_ratios(a, b, 5);

    (void)state;
    assert_int_equal(ratios.n_values, 3); /* the others cannot be compared */
    assert_true(is_near(ratios.median, 1.1) && is_near(ratios.high, 1.2));
    assert_false(leat_bench_covers_one(&ratios));
    ratios = leat_bench_ratios(a, c, 5);
    assert_true(leat_bench_covers_one(&ratios));
    ratios = leat_bench_ratios(a, b, 1); /* one pair tells nothing */
    assert_true(leat_bench_covers_one(&ratios));
    ratios = leat_bench_ratios(a, b, 0);
    assert_true(leat_bench_covers_one(&ratios));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_any),
        cmocka_unit_test(test_ratios),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
