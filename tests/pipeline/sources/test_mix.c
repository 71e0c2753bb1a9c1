/* test_mix.c: pipeline/sources/mix.c, mixer.c, run/mix.c: each source in its order, in its share,
 * to the end that is asked for; one sequence. What it is exactly, tests/reference/ says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/inspect/explain.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define N_SOURCES 3
#define STRIDE    100000

static const size_t sizes[N_SOURCES] = {4000, 1000, 200};

/* m0.jsonl, m1.jsonl, m2.jsonl: ids from i * STRIDE on. */
static void write_sources(void) {
    for (size_t i = 0; i < N_SOURCES; i++) {
        struct leat_text text = {.data = NULL};
        char name[16];

        for (size_t k = 0; k < sizes[i]; k++)
            leat_text_add(&text, "{\"id\": %zu, \"only%zu\": 1}\n", i * STRIDE + k, i);
        (void)snprintf(name, sizeof(name), "m%zu.jsonl", i);
        folder_write(name, text.data, text.n_bytes);
        free(text.data);
    }
}

#define MIX(args)                                                                                  \
    "mix: {sources: [{jsonl: {paths: m0.jsonl}}, {jsonl: {paths: m1.jsonl}}, "                     \
    "{jsonl: {paths: m2.jsonl}}], " args "}"
#define IDS "- select: {fields: [id]}\n- batch: {batch_size: 10}"

static struct collected run(const char *source, const char *stages) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &ids};

    assert_string_equal(drive_stream(source, "", stages, &how).error.message, "");
    return ids;
}

/* How many of each source, whose records must come in their order, again and again. */
static void count(const struct collected *ids, size_t n, size_t counts[N_SOURCES]) {
    memset(counts, 0, N_SOURCES * sizeof(counts[0]));
    for (size_t i = 0; i < n; i++) {
        size_t source = (size_t)ids->values[i] / STRIDE;

        assert_int_equal((size_t)ids->values[i] % STRIDE, counts[source]++ % sizes[source]);
    }
}

static void test_proportions(void **state) {
    struct collected ids = run(MIX("proportions: [5, 2, 1]"), IDS);
    size_t counts[N_SOURCES];

    (void)state;
    count(&ids, ids.n_values, counts);
    assert_int_equal(counts[2], sizes[2]); /* it ends first, when it is asked once more */
    assert_in_range(ids.n_values, 1600, 1608);
    for (size_t n = 0; n < ids.n_values; n += 7) {
        static const double shares[N_SOURCES] = {5.0 / 8, 2.0 / 8, 1.0 / 8};

        count(&ids, n, counts);
        for (size_t i = 0; i < N_SOURCES; i++)
            assert_true((double)counts[i] - shares[i] * (double)n < 1.001 &&
                        shares[i] * (double)n - (double)counts[i] < 1.001);
    }
    collected_free(&ids);
}

static void test_weights(void **state) {
    struct collected ids = run(MIX("weights: [6, 3, 1]"), IDS);
    struct collected others = run(MIX("weights: [6, 3, 1], seed: 1"), IDS);
    size_t counts[N_SOURCES];

    (void)state;
    count(&ids, 1000, counts);
    assert_in_range(counts[0], 540, 660); /* 4 sigma */
    assert_in_range(counts[1], 242, 358);
    assert_in_range(counts[2], 62, 138);
    assert_memory_not_equal(ids.values, others.values, 1000 * sizeof(*ids.values));
    collected_free(&ids);
    collected_free(&others);
}

static void test_ends(void **state) {
    struct collected ids = run(MIX("weights: [1, 1, 1], exhausted: drop"), IDS);
    size_t counts[N_SOURCES];

    (void)state;
    count(&ids, ids.n_values, counts); /* all of them, once */
    for (size_t i = 0; i < N_SOURCES; i++)
        assert_int_equal(counts[i], sizes[i]);
    collected_free(&ids);
    ids = run(MIX("proportions: [1, 1, 1], exhausted: repeat"), IDS);
    count(&ids, ids.n_values, counts); /* until the largest has come to its end */
    assert_int_equal(counts[0], sizes[0]);
    assert_in_range(counts[1], sizes[0], sizes[0] + 1);
    assert_in_range(counts[2], sizes[0], sizes[0] + 1);
    collected_free(&ids);
    ids = run(MIX("proportions: [1, 1, 1], exhausted: stop"), IDS);
    assert_in_range(ids.n_values, 3 * sizes[2], 3 * sizes[2] + 3);
    collected_free(&ids);
}

/* What filters leave of a source counts, not what it has. */
static void test_filtered(void **state) {
    struct collected ids = run(MIX("proportions: [1, 1, 1], exhausted: repeat"),
                               "- filter: {input: id, min: 100100}\n" IDS);
    size_t n[N_SOURCES] = {0};

    (void)state;
    for (size_t i = 0; i < ids.n_values; i++)
        n[ids.values[i] / STRIDE]++;
    assert_int_equal(n[0], 0);
    assert_in_range(n[1], 899, 901);
    assert_in_range(n[2], 899, 901);
    collected_free(&ids);
}

/* It is read again and again, and for nothing: not without end ahead of the others. */
static void test_empty_source(void **state) {
    struct drive how = {.options = {.n_epochs = 2}, .n_slots = 1};
    struct driven driven;

    (void)state;
    folder_write("none.jsonl", "\n\n", 2);
    driven = drive_stream("mix: {sources: [{jsonl: {paths: m1.jsonl, fields: {id: int64}}}, "
                          "{jsonl: {paths: none.jsonl, fields: {id: int64}}}], "
                          "proportions: [99, 1], exhausted: repeat}",
                          "", IDS, &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_rows, 2 * sizes[1]);
}

static void test_one_sequence(void **state) {
    static const char *const sources[] = {
        MIX("weights: [3, 2, 1]"),
        MIX("weights: [1, 2, 5], exhausted: repeat"),
        MIX("proportions: [1, 1, 4], exhausted: drop"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        check_one_sequence(sources[i], IDS);
        check_one_sequence(
            sources[i], "- take: {count: 700}\n- repeat: {count: 3}\n- shuffle: {buffer_size: 50}\n"
                        "- filter: {input: id, min: 50}\n" IDS);
        check_one_sequence(sources[i], "- sample: {fraction: 0.5, each_epoch: true}\n"
                                       "- repeat: {count: 0}\n- take: {count: 2500}\n" IDS);
    }
}

/* Bad records are met where they would have been rows. */
static void test_bad_records(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    const char *source = "mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], "
                         "proportions: [1, 1], exhausted: drop}";
    struct driven driven;
    char *text;

    (void)state;
    folder_print("a.csv", "id\n1\n2\n3\n");
    folder_print("b.csv", "id\n4\nx\n5\n");
#define CAST "- cast: {input: id, dtype: int64}\n"
    driven = drive_stream(source, "", CAST "- take: {count: 3}", &how);
    assert_string_equal(driven.error.message, "");
    driven = drive_stream(source, "", CAST "- take: {count: 4}", &how);
    assert_non_null(strstr(driven.error.file, "b.csv"));
    assert_int_equal(driven.error.line, 3);
    assert_int_equal(driven.n_rows, 3);
    driven = drive_stream(source, "on_error: quarantine\n    quarantine: bad.jsonl",
                          CAST "- take: {count: 5}", &how);
    assert_int_equal(driven.n_rows, 5);
    assert_int_equal(driven.stats.counts.figures.n_bad_records, 1);
    assert_int_equal(driven.stats.counts.figures.n_source_records, 6);
    text = folder_read("bad.jsonl");
    assert_non_null(strstr(text, "b.csv\", \"line\": 3"));
    free(text);
}

static void test_missing_file(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct leat_plan *plan;
    struct driven driven;

    (void)state;
    write_sources();
    plan = stream_plan(MIX("weights: [1, 1, 1]"), "", IDS);
    assert_int_equal(unlink(folder_path("m1.jsonl")), 0);
    driven = drive(plan, &how);
    assert_int_equal(driven.error.code, -ENOENT);
    leat_plan_unref(plan);
    write_sources();
}

static void test_cancelled(void **state) {
    struct drive how = {.options = {.n_epochs = 0}, .cancel_after = 7, .n_jobs = 5, .random = 3};

    (void)state;
    assert_true(
        drive_stream(MIX("weights: [1, 1, 1], exhausted: repeat"), "block_bytes: 4096", IDS, &how)
            .n_batches >= 7);
}

/* The sources share one account; little memory changes speed, not the sequence. */
static void test_little_memory(void **state) {
    struct drive plenty = {.options = {.n_epochs = 2}}, scarce = plenty;
    const char *source = MIX("weights: [3, 2, 1], exhausted: drop");
    struct leat_budget budget;
    struct leat_account account;
    struct driven a, b;

    (void)state;
    leat_budget_init(&budget, 16 << 20);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    scarce.options.account = &account;
    scarce.options.max_map_jobs = 30;
    scarce.n_jobs = 8;
    a = drive_stream(source, "", IDS, &plenty);
    b = drive_stream(source, "block_bytes: 4096", IDS, &scarce);
    assert_string_equal(b.error.message, "");
    assert_string_equal(a.digest, b.digest);
    assert_true(budget.peak_bytes <= 16 << 20);
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
}

static void test_explained(void **state) {
    struct leat_plan *plan = stream_plan(MIX("weights: [6, 3, 1]"), "", IDS);
    char *text = stream_explain(plan, 2, false);

    (void)state;
    assert_non_null(strstr(text, "source   mix        3 files"));
    assert_non_null(strstr(text, "of     jsonl      1 file, 0.6 of all records"));
    assert_int_equal(plan->n_source_fields, 1);
    free(text);
    text = stream_explain(plan, 2, true);
    assert_non_null(
        strstr(text, "\"sources\": [{\"kind\": \"jsonl\", \"n_files\": 1, \"share\": "));
    free(text);
    leat_plan_unref(plan);
}

#define OWN                                                                                        \
    "mix: {sources: [{jsonl: {paths: m0.jsonl}, stages: [{rename: {fields: {id: old}}}, "          \
    "{clip: {input: old, output: id, max: 1000}}, {filter: {input: old, min: 900}}]}, "            \
    "{stages: [{sample: {fraction: 0.5}}], jsonl: {paths: m1.jsonl}}, "                            \
    "{concat: {sources: [{jsonl: {paths: m2.jsonl}, stages: []}]}, "                               \
    "stages: [{clip: {input: id, min: 200150}}]}], "

/* Each source has stages of its own, which the records of the others do not go through. */
static void test_own_stages(void **state) {
    struct collected ids = run(OWN "proportions: [1, 1, 1], exhausted: drop}", IDS);
    size_t n[N_SOURCES] = {0};

    (void)state;
    for (size_t i = 0; i < ids.n_values; i++) {
        n[ids.values[i] / STRIDE]++;
        assert_true(ids.values[i] >= 2 * STRIDE + 150 || ids.values[i] < 2 * STRIDE);
        assert_true(ids.values[i] >= STRIDE || (ids.values[i] >= 900 && ids.values[i] <= 1000));
    }
    assert_int_equal(n[0], sizes[0] - 900);
    assert_in_range(n[1], 420, 580);
    assert_int_equal(n[2], sizes[2]);
    collected_free(&ids);
    check_one_sequence(OWN "weights: [3, 2, 1]}", IDS);
    check_one_sequence(OWN "weights: [1, 2, 5], exhausted: repeat}",
                       "- filter: {input: id, max: 200190}\n- shuffle: {buffer_size: 50}\n"
                       "- sample: {fraction: 0.5, each_epoch: true}\n" IDS);
}

/* What a stage draws at random does not depend on the stages of other sources. */
static void test_own_chance(void **state) {
    const char *behind = "- sample: {fraction: 0.3}\n" IDS;
    struct collected alone = run("concat: {sources: [{jsonl: {paths: m1.jsonl}}]}", behind);
    struct collected both = run("concat: {sources: [{jsonl: {paths: m1.jsonl}}, "
                                "{jsonl: {paths: m2.jsonl}, stages: [{sample: {fraction: 0.3}}]}]}",
                                behind);

    (void)state;
    assert_true(both.n_values > alone.n_values);
    assert_memory_equal(alone.values, both.values, alone.n_values * sizeof(*alone.values));
    collected_free(&alone);
    collected_free(&both);
}

static void test_own_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"[{shuffle: {buffer_size: 9}}]",
         "x.yaml:3:66: streams.x.source.mix.sources[0].jsonl.stages[0].shuffle: needs all rows of "
         "the stream: move it from the source's `stages` to the stream's `stages`"},
        {"[lower, {clipp: {input: id}}]",
         "x.yaml:3:66: streams.x.source.mix.sources[0].jsonl.stages[0].lower: input is missing: "
         "the field with the text"},
        {"[{clip: {input: id, max: 5}}, {clipp: {input: id}}]",
         "x.yaml:3:95: streams.x.source.mix.sources[0].jsonl.stages[1].clipp: unknown stage "
         "\"clipp\"; "
         "did you mean \"clip\"?"},
        {"[{clip: {input: ix, max: 5}}]",
         "x.yaml:3:81: streams.x.source.mix.sources[0].jsonl.stages[0].clip.input: there is no "
         "field \"ix\" here; did you mean \"id\"?"},
        {"[{clip: {input: id, max: 5}, x: 1}]",
         "x.yaml:3:66: streams.x.source.mix.sources[0].jsonl.stages[0]: expected one stage with "
         "its arguments, such as `cast: {input: n}`"},
        {"7",
         "x.yaml:3:65: streams.x.source.mix.sources[0].jsonl.stages: expected a list of stages"},
        {"[{one_hot: {input: id, output: h, categories: [1, 2]}}, {pad: {input: h, length: 4, "
         "value: 0}}]",
         "x.yaml:3:31: streams.x.source.mix.sources[0].jsonl: a stage of this source pads the "
         "field \"h\": move `pad` to the stream's `stages`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char source[512];

        (void)snprintf(source, sizeof(source),
                       "mix: {sources: [{jsonl: {paths: m0.jsonl}, stages: %s}], weights: [1]}",
                       cases[i].stages);
        assert_string_equal(stream_error(source, "", IDS), cases[i].error);
    }
}

static void check_error(const char *source, const char *options, const char *stages,
                        const char *expected) {
    assert_string_equal(stream_error(source, options, stages), expected);
}

static void test_refused(void **state) {
    (void)state;
    check_error(
        "mix: {sources: [{jsonl: {paths: m0.jsonl}}]}", "", IDS,
        "x.yaml:3:14: streams.x.source.mix: give exactly one of `weights` and `proportions`");
    check_error("mix: {sources: [{jsonl: {paths: m0.jsonl}}], weights: [1, 2]}", "", IDS,
                "x.yaml:3:68: streams.x.source.mix.weights: there are 2 numbers for 1 sources: "
                "give one for each source");
    check_error("mix: {sources: [{jsonl: {paths: m0.jsonl}}], weights: [0]}", "", IDS,
                "x.yaml:3:68: streams.x.source.mix.weights: \"0\" is not a number from 1e-9 to "
                "1e9");
    check_error("mix: {sources: [{jsonl: {paths: m0.jsonl}}], weights: [nan]}", "", IDS,
                "x.yaml:3:68: streams.x.source.mix.weights: \"nan\" is not a number from 1e-9 "
                "to 1e9");
    check_error("mix: {sources: [{jsonl: {paths: m0.jsonl}}], proportions: [1], seed: 2}", "", IDS,
                "x.yaml:3:83: streams.x.source.mix.seed: works only with `weights`");
    check_error("mix: {sources: {jsonl: {paths: m0.jsonl}}, weights: [1]}", "", IDS,
                "x.yaml:3:29: streams.x.source.mix.sources: expected a list of sources, got a map");
    check_error(
        "mix: {sources: [{jsonl: {paths: m0.jsonl}, csv: {}}], weights: [1]}", "", IDS,
        "x.yaml:3:30: streams.x.source.mix.sources[0]: expected one source with its arguments, "
        "such as `csv: {paths: [..]}`, and optionally `stages: [..]`, got a map");
    check_error("mix: {sources: [{jsnl: {paths: m0.jsonl}}], weights: [1]}", "", IDS,
                "x.yaml:3:31: streams.x.source.mix.sources[0].jsnl: unknown source \"jsnl\"; did "
                "you mean \"jsonl\"?");
    check_error("mix: {sources: [{jsonl: {path: m0.jsonl}}], weights: [1]}", "", IDS,
                "x.yaml:3:39: streams.x.source.mix.sources[0].jsonl: unknown key \"path\"; did you "
                "mean \"paths\"?");
    assert_non_null(strstr(
        stream_error("mix: {sources: [{jsonl: {paths: none.jsonl}}], weights: [1]}", "", IDS),
        "streams.x.source.mix.sources[0].jsonl: "));
    check_error("mix: {sources: [{mix: {sources: [{jsonl: {paths: m0.jsonl}}], weights: [1]}}], "
                "weights: [1]}",
                "", IDS,
                "x.yaml:3:31: streams.x.source.mix.sources[0].mix: cannot be a source in mix: you "
                "can nest only a `concat` in a `mix`");
    check_error(MIX("weights: [1, 1, 1]"), "", "- cast: {input: only1, dtype: int32}",
                "x.yaml:5:23: streams.x.stages[0].cast.input: \"only1\" is not a field here: "
                "sources[0] does not have this field");
    check_error(MIX("weights: [1, 1, 1]"), "cache: {path: here}", IDS,
                "x.yaml:3:14: streams.x.source.mix: changes the order of records, but a cache "
                "keeps the order of the data: remove `cache`");
}

static int open_all(void **state) {
    if (folder_open(state) < 0)
        return -1;
    write_sources();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proportions),  cmocka_unit_test(test_weights),
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_empty_source), cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_bad_records),  cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_cancelled),    cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_explained),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_own_stages),   cmocka_unit_test(test_own_chance),
        cmocka_unit_test(test_own_refused),
    };

    return cmocka_run_group_tests(tests, open_all, folder_close);
}
