/* test_bench_json.c: what is saved is read again as it was; what is no result is refused. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/bench/bench.h"

static void fill(struct leat_bench *bench) {
    static const char *const names[] = {"batch_size=8", "a=\"x, y\"\n"};

    bench->n_repeat = 3;
    bench->n_seconds = 1;
    bench->goal = LEAT_BENCH_RECORD_RATE;
    for (size_t c = 0; c < 2; c++) {
        struct leat_bench_case *item = leat_bench_add_case(bench, names[c], "f.yaml", "s");

        assert_non_null(item);
        item->n_samples = 3;
        for (size_t i = 0; i < 3; i++)
            for (size_t f = 0; f < LEAT_BENCH_N_FIGURES; f++)
                item->samples[i][f] =
                    f == LEAT_BENCH_TOKEN_RATE ? NAN : (double)(1 + c * 100 + i * 10 + f) * 1.5;
    }
}

static void test_round_trip(void **state) {
    struct leat_bench *bench = calloc(1, sizeof(*bench)), *again = calloc(1, sizeof(*again));
    struct leat_text text = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    assert_true(bench && again);
    fill(bench);
    leat_bench_to_json(bench, &text);
    if (leat_bench_from_json(text.data, text.n_bytes, "r.json", again, &err) < 0)
        fail_msg("%s: %s", err.path, err.message);
    assert_int_equal(again->n_cases, 2);
    for (size_t c = 0; c < 2; c++) {
        assert_string_equal(again->cases[c]->name, bench->cases[c]->name);
        assert_int_equal(again->cases[c]->n_samples, 3);
        for (size_t i = 0; i < 3; i++)
            for (size_t f = 0; f < LEAT_BENCH_N_FIGURES; f++) {
                double a = bench->cases[c]->samples[i][f];
                double b = again->cases[c]->samples[i][f];

                assert_true(isnan(a) ? isnan(b) : fabs(a - b) < 1e-6);
            }
    }
    again->goal = LEAT_BENCH_RECORD_RATE;
    assert_ptr_equal(leat_bench_best(again, NULL), again->cases[1]);
    assert_ptr_equal(leat_bench_best(again, again->cases[1]), again->cases[0]);
    again->goal = LEAT_BENCH_MEMORY;
    assert_ptr_equal(leat_bench_best(again, NULL), again->cases[0]);
    again->goal = LEAT_BENCH_TOKEN_RATE;
    assert_null(leat_bench_best(again, NULL));
    free(text.data);
    leat_bench_deinit(bench);
    leat_bench_deinit(again);
    free(bench);
    free(again);
}

static void test_complaints(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", ""},
        {"{", ""},
        {"[]", "not a file of"},
        {"{}", "not a file of"},
        {"{\"leat_bench\": 2, \"configurations\": []}", "not a file of"},
        {"{\"leat_bench\": \"1\"}", "not a file of"},
        {"{\"leat_bench\": 1}", "\"configurations\" is missing"},
        {"{\"leat_bench\": 1, \"configurations\": {}}", "must be an array"},
        {"{\"leat_bench\": 1, \"configurations\": [3]}", "must be an object"},
        {"{\"leat_bench\": 1, \"configurations\": [{}]}", "\"runs\" is missing"},
        {"{\"leat_bench\": 1, \"configurations\": [{\"runs\": []}]}", "\"name\" is missing"},
        {"{\"leat_bench\": 1, \"configurations\": [{\"runs\": [1], \"name\": \"\", \"stream\": "
         "\"s\"}]}",
         "must be an object"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_bench *bench = calloc(1, sizeof(*bench));
        struct leat_error err = LEAT_ERROR_INIT;

        assert_non_null(bench);
        assert_true(
            leat_bench_from_json(cases[i].text, strlen(cases[i].text), "r.json", bench, &err) < 0);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(err.file, "r.json");
        leat_bench_deinit(bench);
        free(bench);
    }
}

static void test_print(void **state) {
    char buffer[LEAT_CLI_UNIT_MAX];

    (void)state;
    assert_string_equal(leat_bench_print(1234567.4, LEAT_BENCH_COUNT, buffer), "1,234,567");
    assert_string_equal(leat_bench_print(1.234, LEAT_BENCH_COUNT, buffer), "1.23");
    assert_string_equal(leat_bench_print(2.5e-6, LEAT_BENCH_SECONDS, buffer), "2.5 us");
    assert_string_equal(leat_bench_print(0.99999, LEAT_BENCH_SECONDS, buffer), "1000.0 ms");
    assert_string_equal(leat_bench_print(123.4, LEAT_BENCH_SECONDS, buffer), "2 min 03 s");
    assert_string_equal(leat_bench_print(3.25e7, LEAT_BENCH_BYTES_PER_S, buffer), "32.5 MB/s");
    assert_string_equal(leat_bench_print(0.125, LEAT_BENCH_SHARE, buffer), "12.5 %");
    assert_string_equal(leat_bench_print(NAN, LEAT_BENCH_COUNT, buffer), "-");
    assert_string_equal(leat_bench_print(INFINITY, LEAT_BENCH_BYTES, buffer), "-");
    assert_string_equal(leat_bench_print(1e300, LEAT_BENCH_BYTES_PER_S, buffer), "-");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_complaints),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
