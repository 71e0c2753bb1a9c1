/* test_bench_search.c: the search finds the hill of any shape that has one, in few questions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/bench/search.h"

struct shape {
    double peak; /* the score rises up to there, and falls behind, by powers */
    double up, down;
    uint64_t refused_from;
};

static double score(const struct shape *shape, uint64_t value) {
    double ratio = (double)value / shape->peak;

    if (shape->refused_from && value >= shape->refused_from)
        return 0;
    return 1000 * (ratio < 1 ? pow(ratio, shape->up) : pow(1 / ratio, shape->down));
}

struct question {
    const struct shape *shape;
    struct leat_bench_search *search;
    unsigned n_asked;
};

static int measure(void *user, uint64_t value, double *ret_score) {
    struct question *question = user;

    assert_in_range(value, question->search->low, question->search->high);
    assert_in_range(++question->n_asked, 1, LEAT_BENCH_SEARCH_MAX);
    for (size_t i = 0; i < question->search->n_points; i++)
        assert_true(question->search->points[i].value != value); /* nothing is asked twice */
    *ret_score = score(question->shape, value);
    return 0;
}

static unsigned search(const struct shape *shape, uint64_t low, uint64_t high, uint64_t start,
                       struct leat_bench_search *ret) {
    struct question question = {shape, ret, 0};

    *ret = (struct leat_bench_search){measure, &question, .low = low, .high = high};
    assert_int_equal(leat_bench_search(ret, start), 0);
    return question.n_asked;
}

/* Wherever the peak is and the search begins, the best comes near it, of slopes that are steep. */
static void test_peaks(void **state) {
    static const double slopes[] = {0.3, 0.6, 1};

    (void)state;
    for (uint64_t peak = 1; peak <= 100000; peak += peak / 3 + 1)
        for (uint64_t start = 1; start <= 100000; start *= 7)
            for (size_t s = 0; s < 9; s++) {
                struct shape shape = {(double)peak, slopes[s / 3], slopes[s % 3], 0};
                struct leat_bench_search found;

                (void)search(&shape, 1, 1 << 20, start, &found);
                assert_non_null(leat_bench_search_best(&found));
                if (leat_bench_search_best(&found)->score < 800)
                    fail_msg("peak %llu, from %llu: %g at %llu", (unsigned long long)peak,
                             (unsigned long long)start, leat_bench_search_best(&found)->score,
                             (unsigned long long)leat_bench_search_best(&found)->value);
            }
}

/* More workers help up to as many as there are CPUs: the smallest number that is good is found. */
static void test_plateau(void **state) {
    (void)state;
    for (uint64_t n_cpus = 1; n_cpus <= 64; n_cpus++) {
        struct shape shape = {(double)n_cpus, 1, 0, 0};
        struct leat_bench_search found;
        const struct leat_bench_point *smallest;
        unsigned n = search(&shape, 1, 2 * n_cpus, 1, &found);

        smallest = leat_bench_search_smallest(&found);
        assert_non_null(smallest);
        assert_true(smallest->score >= 950);
        assert_true(smallest->value <= n_cpus + n_cpus / 8 + 1);
        assert_true(n <= 20);
        assert_true(found.reason[0] != '\0');
    }
}

static void test_refused(void **state) {
    struct shape shape = {1e6, 1, 1, 3000};
    struct leat_bench_search found;

    (void)state;
    (void)search(&shape, 1, 1 << 20, 32, &found);
    assert_true(leat_bench_search_best(&found)->value >= 2500);
    assert_non_null(strstr(found.reason, "refuses 4096"));
    (void)search(&shape, 1, 1 << 20, 100000, &found); /* begins above */
    assert_non_null(leat_bench_search_best(&found));
    shape.refused_from = 1;
    (void)search(&shape, 1, 1 << 20, 32, &found);
    assert_null(leat_bench_search_best(&found));
    assert_null(leat_bench_search_smallest(&found));
}

static void test_edges(void **state) {
    struct shape shape = {1, 1, 1, 0};
    struct leat_bench_search found;

    (void)state;
    assert_int_equal(search(&shape, 1, 1, 1, &found), 1);
    assert_int_equal(search(&shape, 7, 7, 99, &found), 1);
    assert_int_equal(leat_bench_search_best(&found)->value, 7);
    (void)search(&shape, 1, 2, 1, &found);
    assert_int_equal(leat_bench_search_best(&found)->value, 1);
    (void)search(&shape, UINT64_MAX / 4, UINT64_MAX / 2, UINT64_MAX / 3, &found);
    assert_non_null(leat_bench_search_best(&found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_plateau),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_edges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
