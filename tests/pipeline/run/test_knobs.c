/* test_knobs.c: pipeline/run/run.c, work/knobs.c: whatever is turned while a run goes on, the
 * batches stay the same, as do bad records and errors. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_records.h"
#include "tests/pipeline/shared_stream.h"

#define WAYS 12

/* The same digest as without turning anything. */
static void assert_same(const char *source, const char *options, const char *stages,
                        const struct leat_run_options *run_options) {
    struct drive still = {.options = *run_options};
    struct driven first = drive_stream(source, options, stages, &still);

    for (int i = 0; i < WAYS; i++) {
        struct drive how = random_drive();
        uint32_t max_map_jobs = how.options.max_map_jobs;
        struct driven driven;

        how.options = *run_options;
        how.options.max_map_jobs = max_map_jobs;
        how.turns_knobs = true;
        driven = drive_stream(source, options, stages, &how);
        assert_string_equal(driven.digest, first.digest);
        assert_int_equal(driven.error.code, first.error.code);
        assert_string_equal(driven.error.message, first.error.message);
        assert_int_equal(driven.n_batches, first.n_batches);
        if (!first.error.code && run_options->n_steps == 0)
            assert_int_equal(driven.stats.counts.figures.n_bad_records,
                             first.stats.counts.figures.n_bad_records);
    }
}

static const struct leat_run_options whole = {.n_epochs = 2};
static const struct leat_run_options midway = {
    .n_epochs = 2, .first_epoch = 3, .first_step = 5, .first_rank = 1, .world_size = 2};

static void test_orders(void **state) {
    static const char *const tails[] = {
        "- batch: {batch_size: 7}",
        "- shuffle: {buffer_size: 500, seed: 3}\n- batch: {batch_size: 16}",
        "- take: {count: 300}\n- repeat: {count: 4}\n- batch: {batch_size: 11}",
        "- shuffle: {buffer_size: 50}\n- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
    };

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char stages[1024];

        (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                       tails[i]);
        assert_same(CSV, "on_error: skip", stages, &whole);
        assert_same(CSV, "on_error: skip", stages, &midway);
        assert_same(CSV, "on_error: fail", stages, &whole);
    }
}

static void test_mix(void **state) {
    const char *source = "mix: {sources: [csv: {paths: [data.csv]}, csv: {paths: [b.csv]}], "
                         "weights: [2, 1], exhausted: repeat}";

    (void)state;
    write_data("data.csv", 0, 900, 97);
    write_data("b.csv", 1000, 1400, 31);
    assert_same(source, "on_error: skip",
                CASTS "- select: {fields: [id]}\n- shuffle: {buffer_size: 100}\n"
                      "- batch: {batch_size: 8}",
                &whole);
}

static void write_documents(void) {
    struct leat_text text = {.data = NULL};

    for (int i = 0; i < 400; i++) {
        int n = i * 7919 % 301;

        leat_text_add(&text, "{\"t\": \"");
        for (int k = 0; k < n; k++)
            leat_text_add(&text, "%s", k % 3 ? "b" : "a");
        leat_text_add(&text, "\"}\n");
    }
    folder_write("docs.jsonl", text.data, text.n_bytes);
    free(text.data);
    folder_print("vocab.txt", "a\nb\nab\nbb\n");
}

static void test_pack(void **state) {
    static const char tokenize[] = "- tokenize: {input: t, output: ids, vocab: vocab.txt, mode: "
                                   "greedy, max_length: 4096}\n";
    char stages[600];

    (void)state;
    write_documents();
    (void)snprintf(stages, sizeof(stages),
                   "%s- select: {fields: [ids]}\n- chunk: {fields: [ids], length: 50, stride: 30}\n"
                   "- pack: {fields: [ids], length: 128, window: 37, value: 0, mask: m}\n"
                   "- batch: {batch_size: 3}",
                   tokenize);
    assert_same("jsonl: {paths: [docs.jsonl]}", "seed: 4", stages, &whole);
    (void)snprintf(stages, sizeof(stages),
                   "%s- select: {fields: [ids]}\n- pad: {input: ids, longest: true, value: 0}\n"
                   "- batch: {max_tokens: 1000, max_rows: 20}",
                   tokenize);
    assert_same("jsonl: {paths: [docs.jsonl]}", "max_record_bytes: 200\n    on_error: skip", stages,
                &whole);
}

/* Built with blocks of all sizes, and read. */
static void test_cache(void **state) {
    const char *stages = CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 99}\n"
                               "- batch: {batch_size: 9}";

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    for (int i = 0; i < 4; i++) {
        struct drive without = {.options = whole}, with = random_drive();
        struct driven first = drive_stream(CSV, "on_error: skip", stages, &without), driven;

        remove_caches();
        with.options.n_epochs = 2;
        with.turns_knobs = true;
        driven = drive_stream(CSV, "cache: {path: .}\n    on_error: skip", stages, &with);
        assert_string_equal(driven.digest, first.digest);
        assert_non_null(cache_name());
        assert_same(CSV, "cache: {path: .}\n    on_error: skip", stages, &whole);
    }
    remove_caches();
}

static void test_quarantine(void **state) {
    const char *options = "on_error: quarantine\n    quarantine: bad.jsonl";
    const char *stages = CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 9}";
    struct drive still = {.options = whole};
    char *first, *turned;

    (void)state;
    write_data("data.csv", 0, 2000, 13);
    assert_int_equal(drive_stream(CSV, options, stages, &still).error.code, 0);
    first = folder_read("bad.jsonl");
    for (int i = 0; i < WAYS; i++) {
        struct drive how = random_drive();

        how.options.n_epochs = 2;
        how.turns_knobs = true;
        assert_int_equal(drive_stream(CSV, options, stages, &how).error.code, 0);
        turned = folder_read("bad.jsonl");
        assert_string_equal(turned, first);
        free(turned);
    }
    free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),     cmocka_unit_test(test_mix),
        cmocka_unit_test(test_pack),       cmocka_unit_test(test_cache),
        cmocka_unit_test(test_quarantine),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
