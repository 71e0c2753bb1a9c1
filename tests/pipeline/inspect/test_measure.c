/* test_measure.c: pipeline/inspect/measure.c, forecast.c: a trial is bounded, writes nothing, knows
 * how much there is, and what follows from its figures is what arithmetic says. */
#include "pipeline/inspect/measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/pipeline/shared_records.h"

/* A clock that goes on by a microsecond each time that it is read. */
static uint64_t ticks;
static uint64_t tick(void) {
    return ticks += 1000;
}

static struct leat_measure_options bounded(uint64_t max_bytes, uint64_t max_ns) {
    ticks = 0;
    return (struct leat_measure_options){
        .max_bytes = max_bytes, .max_ns = max_ns, .now_ns = tick, .busy_ns = tick};
}

static struct leat_measurement measure(const char *source, const char *options, const char *stages,
                                       const struct leat_measure_options *how) {
    struct leat_plan *plan = stream_plan(source, options, stages);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_measurement measured;

    assert_null(leat_measure_refusal(plan, how));
    if (leat_measure(plan, &leat_opener_operator, how, &measured, &err) < 0)
        fail_msg("%s", err.message);
    leat_plan_unref(plan);
    return measured;
}

#define STAGES CASTS "- select: {fields: [id, age]}\n"

static void test_all_of_it(void **state) {
    static const struct {
        const char *stages;
        uint64_t n_rows, n_batches;
    } cases[] = {
        {STAGES "- batch: {batch_size: 10}", 1000, 100},
        {STAGES "- shuffle: {buffer_size: 5000}\n- batch: {batch_size: 64}", 1000, 16},
        {STAGES "- take: {count: 105}\n- batch: {batch_size: 10}", 105, 11},
        {STAGES "- shuffle: {global: true}\n- batch: {batch_size: 10, drop_last: true}", 1000, 100},
    };

    (void)state;
    write_data("data.csv", 0, 1000, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_measure_options how = bounded(UINT64_MAX, UINT64_MAX / 2);
        struct leat_measurement measured = measure(CSV, "", cases[i].stages, &how);

        assert_true(measured.is_all);
        assert_int_equal(measured.n_records, 1000);
        assert_int_equal(measured.n_batch_rows, cases[i].n_rows);
        assert_int_equal(measured.n_batches, cases[i].n_batches);
        assert_true(measured.n_epoch_records == 1000);
        leat_measurement_deinit(&measured);
    }
}

/* Neither bytes nor time go far beyond what is allowed; what there is is told by what was seen. */
static void test_bounds(void **state) {
    struct leat_measure_options how = bounded(300000, UINT64_MAX / 2);
    struct leat_measurement measured;

    (void)state;
    write_data("data.csv", 0, 60000, 0);
    measured = measure(CSV, "", STAGES "- batch: {batch_size: 10}", &how);
    assert_in_range(measured.n_bytes, 300000, 300000 + (256 << 10));
    assert_false(measured.is_all);
    assert_true(fabs(measured.n_epoch_records - 60000) < 6000);
    leat_measurement_deinit(&measured);
    how = bounded(UINT64_MAX, 1000); /* a tick */
    measured = measure(CSV, "", STAGES "- batch: {batch_size: 10}", &how);
    assert_true(measured.n_bytes <= 256 << 10);
    leat_measurement_deinit(&measured);
}

/* One that is too large for it ends the trial; it is not an error. */
static void test_large_record(void **state) {
    struct leat_measure_options how = bounded(UINT64_MAX, UINT64_MAX / 2);
    struct leat_measurement measured;
    size_t n = 6 << 20;
    char *large = malloc(n);

    (void)state;
    assert_non_null(large);
    memset(large, 'x', n);
    memcpy(large, "id,name,age\n1,a,2\n2,", 21);
    memcpy(large + n - 3, ",3\n", 3);
    folder_write("large.csv", large, n);
    free(large);
    measured = measure("csv: {paths: [large.csv]}", "", STAGES "- batch: {batch_size: 10}", &how);
    assert_false(measured.is_all);
    assert_true(measured.n_records <= 1);
    leat_measurement_deinit(&measured);
}

static void test_sources(void **state) {
    static const struct {
        const char *source;
        double n;
    } cases[] = {
        {"mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], weights: [3, 1]}", 400},
        {"mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], weights: [3, 1], "
         "exhausted: drop}",
         500},
        {"concat: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}]}", 500},
    };

    (void)state;
    write_data("a.csv", 0, 300, 0);
    write_data("b.csv", 1000, 200, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_measure_options how = bounded(UINT64_MAX, UINT64_MAX / 2);
        struct leat_measurement measured =
            measure(cases[i].source, "", STAGES "- batch: {batch_size: 10}", &how);

        assert_true(fabs(measured.n_epoch_records - cases[i].n) < 1);
        leat_measurement_deinit(&measured);
    }
}

/* With bad records, a quarantine and a cache: nothing is written. */
static void test_leaves_nothing(void **state) {
    struct leat_measure_options how = bounded(UINT64_MAX, UINT64_MAX / 2);
    struct leat_measurement measured;

    (void)state;
    (void)mkdir(folder_path("kept"), 0700);
    write_data("data.csv", 0, 1000, 7);
    measured =
        measure(CSV, "on_error: quarantine\n    quarantine: bad.jsonl\n    cache: {path: kept}",
                STAGES "- batch: {batch_size: 10}", &how);
    assert_true(measured.n_cached_rows > 0 && measured.load_ns > 0);
    assert_null(folder_read("bad.jsonl"));
    assert_int_equal(rmdir(folder_path("kept")), 0);
    leat_measurement_deinit(&measured);
}

static void test_refused(void **state) {
    struct leat_measure_options how = bounded(1, 1);
    struct leat_plan *plan = stream_plan(CSV, "",
                                         "- exec: {command: [cat], schema: {n: int64}}\n"
                                         "- select: {fields: [n]}");

    (void)state;
    assert_non_null(strstr(leat_measure_refusal(plan, &how), "--measure"));
    how.may_start_programs = true;
    assert_null(leat_measure_refusal(plan, &how));
    leat_plan_unref(plan);
}

static void test_missing_file(void **state) {
    struct leat_measure_options how = bounded(UINT64_MAX, UINT64_MAX / 2);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_measurement measured;
    struct leat_plan *plan;

    (void)state;
    write_data("a.csv", 0, 30, 0);
    write_data("b.csv", 0, 30, 0);
    plan = stream_plan("csv: {paths: [a.csv, b.csv]}", "", STAGES "- batch: {batch_size: 10}");
    assert_int_equal(unlink(folder_path("b.csv")), 0);
    assert_int_equal(leat_measure(plan, &leat_opener_operator, &how, &measured, &err), -ENOENT);
    leat_measurement_deinit(&measured);
    leat_plan_unref(plan);
}

/* ---- the arithmetic ---- */

static void test_forecast(void **state) {
    uint64_t step_ns[8] = {6000}; /* 60 ns a record */
    struct leat_measurement measured = {.n_bytes = 10000,
                                        .n_records = 100,
                                        .n_rows = 100,
                                        .n_batches = 0,
                                        .n_batch_rows = 100,
                                        .n_early_batches = 1,
                                        .scan_ns = 1000,
                                        .order_ns = 2000,
                                        .collate_ns = 1000,
                                        .n_step_rows = 100,
                                        .n_collated_rows = 100,
                                        .step_ns = step_ns,
                                        .n_epoch_records = 1e6};
    struct leat_plan *plan;
    struct leat_forecast forecast;

    (void)state;
    write_data("data.csv", 0, 10, 0);
    plan = stream_plan(CSV, "", STAGES "- batch: {batch_size: 10}");
    leat_forecast_make(plan, &measured, 1, 16, &forecast);
    assert_int_equal(forecast.bound, LEAT_RESOURCE_WORKERS); /* 80 ns of one */
    assert_true(fabs(forecast.records_per_s - 1e9 / 80) < 1);
    assert_true(fabs(forecast.epoch_s - 0.08) < 1e-9);
    leat_forecast_make(plan, &measured, 16, 16, &forecast);
    assert_int_equal(forecast.bound, LEAT_RESOURCE_LOOP); /* 20 ns */
    assert_true(fabs(forecast.records_per_s - 1e9 / 20) < 1);
    leat_forecast_make(plan, &measured, 2, 2, &forecast);
    assert_int_equal(forecast.bound, LEAT_RESOURCE_CPUS); /* 100 ns of two */
    assert_true(fabs(forecast.bytes_per_s - 2e9) < 1);
    measured.scan_ns = 6000;
    leat_forecast_make(plan, &measured, 16, 16, &forecast);
    assert_int_equal(forecast.bound, LEAT_RESOURCE_SCAN);
    measured.n_records = 0;
    leat_forecast_make(plan, &measured, 2, 2, &forecast);
    assert_null(forecast.measurement);
    assert_non_null(
        strstr(forecast.reason, "the first 4 MiB of the data contain no complete record"));
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_sources),        cmocka_unit_test(test_large_record),
        cmocka_unit_test(test_leaves_nothing), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_missing_file),   cmocka_unit_test(test_forecast),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
