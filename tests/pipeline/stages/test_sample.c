/* test_sample.c: pipeline/stages/sample.c: about as many as asked, the same ones whatever else is
 * there, others where that is asked. tests/reference/ says which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define N 20000

static void run(const char *stages, uint64_t epoch, bool has_seed, struct collected *ids) {
    struct drive how = {
        .options = {.first_epoch = epoch, .n_epochs = 1, .has_seed = has_seed, .seed = 77},
        .on_batch = collect,
        .user = ids};
    char all[512];

    *ids = (struct collected){.name = "id"};
    (void)snprintf(all, sizeof(all),
                   "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n%s\n"
                   "- batch: {batch_size: 100}",
                   stages);
    assert_string_equal(drive_stream(CSV, "", all, &how).error.message, "");
}

static void check_same(const char *a, const char *b, uint64_t epoch, bool has_seed, bool is_same) {
    struct collected x, y;

    run(a, 0, false, &x);
    run(b, epoch, has_seed, &y);
    assert_int_equal(x.n_values == y.n_values &&
                         memcmp(x.values, y.values, x.n_values * sizeof(*x.values)) == 0,
                     is_same);
    collected_free(&x);
    collected_free(&y);
}

static void test_fractions(void **state) {
    static const double fractions[] = {0.001, 0.1, 0.5, 0.9, 1};

    (void)state;
    write_data("data.csv", 0, N, 0);
    for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
        double mean = N * fractions[i], deviation = 141 * fractions[i] + 20;
        struct collected ids;
        char stage[64];

        (void)snprintf(stage, sizeof(stage), "- sample: {fraction: %g}", fractions[i]);
        run(stage, 0, false, &ids);
        assert_in_range(ids.n_values, (uint64_t)(mean > 4 * deviation ? mean - 4 * deviation : 0),
                        (uint64_t)(mean + 4 * deviation));
        for (size_t k = 1; k < ids.n_values; k++)
            assert_true(ids.values[k] > ids.values[k - 1]);
        collected_free(&ids);
    }
}

static void test_what_counts(void **state) {
    const char *sample = "- sample: {fraction: 0.5}";

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    check_same(sample, sample, 3, true, true); /* neither epoch nor the stream's seed */
    check_same(sample, "- sample: {fraction: 0.5, seed: 1}", 0, false, false);
    check_same(sample, "- sample: {fraction: 0.5, each_epoch: true}", 0, false, true);
    check_same(sample, "- sample: {fraction: 0.5, each_epoch: true}", 1, false, false);
    check_same(sample, "- take: {count: 100000}\n- sample: {fraction: 0.5}", 0, false, true);
    check_same(sample, "- sample: {fraction: 0.5}\n- sample: {fraction: 0.5}", 0, false, false);
}

/* A smaller sample is part of a larger one. */
/* A cache of one epoch's rows is of no use to another epoch. */
static void test_each_epoch_with_cache(void **state) {
    const char *stages = "- sample: {fraction: 0.5, each_epoch: true}\n- batch: {batch_size: 100}";

    (void)state;
    write_data("data.csv", 0, 20, 0);
    assert_non_null(strstr(stream_error(CSV, "cache: {path: .}", stages),
                           "makes different values in each epoch, but a cache would repeat"));
}

static void test_is_nested(void **state) {
    struct collected small, large;
    size_t at = 0;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    run("- sample: {fraction: 0.2}", 0, false, &small);
    run("- sample: {fraction: 0.3}", 0, false, &large);
    assert_true(small.n_values > 300);
    for (size_t i = 0; i < small.n_values; i++) {
        while (at < large.n_values && large.values[at] != small.values[i])
            at++;
        assert_true(at < large.n_values);
    }
    collected_free(&small);
    collected_free(&large);
}

static void test_one_sequence(void **state) {
    (void)state;
    write_documents(500, 50);
    check_one_sequence(DOCUMENTS, "- select: {fields: [id]}\n- sample: {fraction: 0.7}\n"
                                  "- shuffle: {buffer_size: 30}\n"
                                  "- sample: {fraction: 0.8, each_epoch: true}\n"
                                  "- batch: {batch_size: 4}");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- sample: {fraction: 1.5}",
                  "x.yaml:5:28: streams.x.stages[0].sample.fraction: 1.5 is outside 0..1");
    check_refused("{\"a\": 1}\n", "- sample: {fraction: nan}",
                  "x.yaml:5:28: streams.x.stages[0].sample.fraction: nan is outside 0..1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_what_counts),
        cmocka_unit_test(test_each_epoch_with_cache),
        cmocka_unit_test(test_is_nested),
        cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
