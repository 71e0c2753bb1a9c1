/* test_rfft.c: pipeline/stages/rfft/rfft.c and rfft/transform.c. */
#include <math.h>
#include <stdlib.h>

#include "pipeline/stages/rfft/transform.h"
#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("rfft");
}

static void test_not_finite(void **state) {
    (void)state;
    check_rows("{\"x\": [-2, 1]}\n", "- log1p: {input: x}\n- rfft: {input: x, n: 2}",
               "{\"x\": [null, null, null, null]}\n");
    check_rows("{\"x\": [-2, 1]}\n", "- log1p: {input: x}\n- rfft: {input: x, n: 2, nan: fail}",
               "in.jsonl:1: rfft.x: has numbers that are not finite, so it has no spectrum\n");
    check_rows("{\"x\": [-1, 0]}\n",
               "- log1p: {input: x}\n- rfft: {input: x, n: 2, nan: default, default: 5}",
               "{\"x\": [5.0, 0.0, 5.0, 0.0]}\n");
    check_rows("{\"x\": [1, 0, -2]}\n",
               "- log1p: {input: x, output: y}\n- rfft: {input: y, n: 2, nan: fail, form: "
               "power}\n- select: {fields: [x]}",
               "{\"x\": [1, 0, -2]}\n");
}

static void test_width(void **state) {
    (void)state;
    check_rows("{\"x\": [1, 2, 3, 4]}\n",
               "- rfft: {input: x, n: 4}\n- rfft: {input: x, output: y, form: magnitude}\n- "
               "select: {fields: [x]}",
               "{\"x\": [10.0, 0.0, -2.0, 2.0, -2.0, 0.0]}\n");
    check_refused("{\"x\": [1]}\n", "- rfft: {input: x}",
                  "x.yaml:5:9: streams.x.stages[0].rfft: the lists of \"x\" have no fixed width: "
                  "set `n` to a number from 1 to 1048576");
    check_refused("{\"x\": 1}\n", "- rfft: {input: x, n: 2}",
                  "x.yaml:5:23: streams.x.stages[0].rfft.input: \"x\" is one number, not a list");
    check_refused("{\"x\": [1]}\n", "- rfft: {input: x, n: 0}",
                  "x.yaml:5:29: streams.x.stages[0].rfft.n: 0 is outside 1..1048576");
    check_refused("{\"x\": [1]}\n", "- rfft: {input: x, n: 997}",
                  "x.yaml:5:29: streams.x.stages[0].rfft.n: 997 has a prime factor above 127, "
                  "which is slow: use 999");
    check_refused("{\"x\": [1]}\n", "- rfft: {input: x, n: 2, nan: default, default: inf}",
                  "x.yaml:5:55: streams.x.stages[0].rfft.default: must be finite: a list with an "
                  "infinite number has no spectrum");
}

/* Against the definition, in double. */
static void check_size(uint32_t n) {
    double *points = malloc(n * sizeof(*points));
    double *spectrum = malloc(2 * (n / 2 + 1) * sizeof(*spectrum));
    struct leat_rfft *rfft = NULL;
    void *memory;

    assert_int_equal(leat_rfft_new(n, &rfft), 0);
    memory = malloc(leat_rfft_memory(rfft));
    assert_true(points && spectrum && memory);
    for (uint32_t i = 0; i < n; i++)
        points[i] = (double)((i * 7919 + 13) % 101) - 50;
    leat_rfft_execute(rfft, points, spectrum, memory);
    for (uint32_t k = 0; k <= n / 2; k++) {
        double r = 0, i = 0;

        for (uint32_t t = 0; t < n; t++) {
            double angle = -2 * M_PI * (double)((uint64_t)k * t % n) / n;

            r += points[t] * cos(angle);
            i += points[t] * sin(angle);
        }
        assert_true(fabs(spectrum[2 * k] - r) <= 1e-5 * n);
        assert_true(fabs(spectrum[2 * k + 1] - i) <= 1e-5 * n);
    }
    leat_rfft_free(rfft);
    free(points);
    free(spectrum);
    free(memory);
}

static void test_sizes(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 300; n++)
        if (leat_rfft_next_size(n) == n)
            check_size(n);
    check_size(2048);
    assert_int_equal(leat_rfft_next_size(1048573), 1048575);
    assert_int_equal(leat_rfft_next_size(LEAT_RFFT_POINTS_MAX), LEAT_RFFT_POINTS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_sizes),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
