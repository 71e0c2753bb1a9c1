/* test_unfused.c: pipeline/work/map_run.c, run/job_pool.c: per-record stages that are jobs of their
 * own give the same batches, bad records and caches as one pass, in any order of completion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define ASIDE   "on_error: quarantine\n    quarantine: bad.jsonl"
#define NUMBERS "- select: {fields: [id, age]}\n"

static void assert_same(const struct driven *a, const struct driven *b, const char *stages) {
    if (strcmp(a->digest, b->digest) != 0)
        fail_msg("another digest:\n%s", stages);
    assert_string_equal(a->error.message, b->error.message);
    assert_int_equal(a->n_rows, b->n_rows);
    if (!a->error.code)
        assert_int_equal(a->stats.counts.figures.n_bad_records,
                         b->stats.counts.figures.n_bad_records);
}

/* One after the other, in any order, and in threads. */
static void check(const char *source, const char *options, const char *stages) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven fused = drive_stream(source, options, stages, &how), driven;
    char all[256];

    how.options.is_unfused = true;
    driven = drive_stream(source, options, stages, &how);
    assert_same(&fused, &driven, stages);
    for (unsigned i = 1; i < 4; i++) {
        how = random_drive();
        how.random |= i != 1; /* odd: unfused */
        how.options = (struct leat_run_options){
            .n_epochs = 2, .max_map_jobs = 2 * i, .n_map_threads = i, .is_unfused = true};
        how.in_threads = i == 3;
        (void)snprintf(all, sizeof(all), "%s\n    %s", block_option(), options);
        driven = drive_stream(source, all, stages, &how);
        assert_same(&fused, &driven, stages);
    }
}

static void test_kinds(void **state) {
    static const char *const chains[] = {
        CASTS NUMBERS "- batch: {batch_size: 7}",
        CASTS NUMBERS "- shuffle: {buffer_size: 300}\n- filter: {input: age, min: 30}\n"
                      "- batch: {batch_size: 9}",
        CASTS "- filter: {input: age, min: 10}\n"
              "- dedup: {input: name}\n" NUMBERS "- batch: {batch_size: 4}",
        CASTS "- sample: {fraction: 0.5}\n- split: {part: train, train: 0.9, test: 0.1}\n"
              "- normalize: {input: age, mean: 30, std: 10}\n- clip: {input: age, min: -1}\n"
              "- log1p: {input: id, output: logged}\n- bin: {input: age, edges: [0, 1], "
              "output: bins}\n- one_hot: {input: bins, output: hot, classes: 3}\n"
              "- select: {fields: [id, age, logged, hot]}\n- batch: {batch_size: 16}",
        CASTS "- lower: {input: name}\n- strip: {input: name}\n"
              "- replace: {input: name, old: a, new: b}\n"
              "- hash_bucket: {input: name, output: hashed, buckets: 100}\n"
              "- select: {fields: [id, hashed]}\n- take: {count: 500}\n"
              "- repeat: {count: 3}\n- batch: {batch_size: 10}",
    };
    static const char *const options[] = {"on_error: fail", "on_error: skip", ASIDE,
                                          "on_error: skip\n    max_errors: 20"};

    (void)state;
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
        for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
            write_data("data.csv", 0, 1500, k == 0 ? 0 : 61);
            check(CSV, options[k], chains[i]);
        }
}

static void test_documents(void **state) {
    static const char *const chains[] = {
        "- chunk: {fields: [ids], length: 16, stride: 12}\n- select: {fields: [ids]}\n"
        "- pad: {input: ids, length: 16, value: 0}\n- batch: {batch_size: 8}",
        "- select: {fields: [ids]}\n- pack: {fields: [ids], length: 64, how: best_fit, "
        "window: 50, value: 0}\n- batch: {batch_size: 4}",
        "- select: {fields: [id, ids]}\n- shuffle: {buffer_size: 40}\n"
        "- pad: {input: ids, longest: true, value: 0}\n- bucket: {input: ids, window: 100}\n"
        "- batch: {batch_size: 8}",
    };

    (void)state;
    write_documents(600, 60);
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
        check(DOCUMENTS, "", chains[i]);
}

static void test_sources(void **state) {
    static const char *const sources[] = {
        "mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], weights: [3, 1]}",
        ("mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], proportions: [1, 2], "
         "exhausted: repeat}"),
        "concat: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}]}",
    };

    (void)state;
    write_data("a.csv", 0, 900, 41);
    write_data("b.csv", 5000, 400, 0);
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        check(sources[i], "on_error: skip",
              CASTS NUMBERS "- shuffle: {buffer_size: 64}\n- batch: {batch_size: 8}");
}

/* Whoever builds the cache, all read the same from it. */
static void test_cache(void **state) {
    const char *stages = CASTS NUMBERS
        "- shuffle: {buffer_size: 64}\n- take: {count: 700}\n- batch: {batch_size: 8}";
    const char *options = "cache: {path: .}\n    on_error: skip\n    block_bytes: 4096";
    struct drive how = {.options = {.n_epochs = 3}};
    struct driven plain, driven;

    (void)state;
    write_data("data.csv", 0, 1500, 61);
    plain = drive_stream(CSV, "on_error: skip", stages, &how);
    for (unsigned i = 0; i < 4; i++) {
        if (i % 2 == 0)
            remove_caches();
        how.options.is_unfused = i == 0 || i == 3;
        driven = drive_stream(CSV, options, stages, &how);
        assert_same(&plain, &driven, stages);
    }
    assert_true(driven.n_cached > 0);
}

/* What is begun and not wanted any more, or is given up, is let go. */
static void test_given_up(void **state) {
    (void)state;
    write_data("data.csv", 0, 3000, 0);
    for (unsigned i = 0; i < 20; i++) {
        struct drive how = random_drive();
        struct driven driven;

        how.cancel_after = 1 + i;
        how.options = (struct leat_run_options){.is_unfused = true, .max_map_jobs = 8};
        driven =
            drive_stream(CSV, "block_bytes: 4096",
                         CASTS NUMBERS "- take: {count: 300}\n- batch: {batch_size: 10}", &how);
        assert_int_equal(driven.error.code, 0);
    }
}

static void test_little_memory(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    const char *stages = CASTS NUMBERS "- batch: {batch_size: 10}";
    struct leat_budget budget;
    struct leat_account account;
    struct driven a, b;

    (void)state;
    write_data("data.csv", 0, 5000, 0);
    a = drive_stream(CSV, "", stages, &how);
    leat_budget_init(&budget, 8 << 20);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    how.options.account = &account;
    how.options.is_unfused = true;
    how.options.max_map_jobs = 30;
    how.n_jobs = 8;
    b = drive_stream(CSV, "block_bytes: 4096", stages, &how);
    assert_string_equal(b.error.message, "");
    assert_string_equal(a.digest, b.digest);
    assert_true(budget.peak_bytes <= 8 << 20);
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),    cmocka_unit_test(test_documents),
        cmocka_unit_test(test_sources),  cmocka_unit_test(test_cache),
        cmocka_unit_test(test_given_up), cmocka_unit_test(test_little_memory),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
