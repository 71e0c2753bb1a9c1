/* test_split.c: pipeline/stages/split.c: the parts are disjoint and complete, have about their
 * shares, and stay what they are when records are added or moved. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define N 6000

static const char *const names[] = {"train", "validation", "test"};

/* For each id its part, by running the stream of each; ids are below n. */
static void parts_of(const char *source, const char *shares, size_t n, int *ret_parts) {
    for (size_t i = 0; i < n; i++)
        ret_parts[i] = -1;
    for (int part = 0; part < 3; part++) {
        struct collected ids = {.name = "id"};
        struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &ids};
        char stages[512];

        (void)snprintf(stages, sizeof(stages),
                       "- split: {%s, part: %s}\n- cast: {input: id, dtype: int64}\n"
                       "- select: {fields: [id]}\n- batch: {batch_size: 64}",
                       shares, names[part]);
        assert_string_equal(drive_stream(source, "", stages, &how).error.message, "");
        for (size_t i = 0; i < ids.n_values; i++) {
            assert_int_equal(ret_parts[ids.values[i]], -1); /* disjoint */
            ret_parts[ids.values[i]] = part;
        }
        collected_free(&ids);
    }
    for (size_t i = 0; i < n; i++)
        assert_int_not_equal(ret_parts[i], -1); /* complete */
}

static void count(const int *parts, size_t n, size_t counts[3]) {
    for (int part = 0; part < 3; part++)
        counts[part] = 0;
    for (size_t i = 0; i < n; i++)
        counts[parts[i]]++;
}

static void test_shares(void **state) {
    static int parts[N];
    size_t counts[3];

    (void)state;
    write_data("data.csv", 0, N, 0);
    parts_of(CSV, "train: 0.7, validation: 0.2, test: 0.1", N, parts);
    count(parts, N, counts);
    assert_in_range(counts[0], 4060, 4340); /* 4 sigma */
    assert_in_range(counts[1], 1076, 1324);
    parts_of(CSV, "train: 0.33333333333333, validation: 0.33333333333333, test: 0.33333333333334",
             N, parts);
    count(parts, N, counts);
    assert_in_range(counts[2], 1850, 2150);
}

/* Records are added behind, in front and in other files. */
static void test_is_stable(void **state) {
    static int before[N], after[N];
    const char *shares = "train: 0.6, validation: 0.3, test: 0.1";
    size_t n_same = 0;

    (void)state;
    write_data("data.csv", 0, N / 2, 0);
    parts_of(CSV, shares, N / 2, before);
    write_data("data.csv", 0, N, 0);
    parts_of(CSV, shares, N, after);
    assert_memory_equal(before, after, N / 2 * sizeof(*before));
    write_data("data.csv", N / 2, N / 2, 0);
    write_data("more.csv", 0, N / 2, 0);
    parts_of("csv: {paths: [data.csv, more.csv]}", shares, N, before);
    assert_memory_equal(before, after, sizeof(before));
    parts_of("csv: {paths: [data.csv, more.csv]}",
             "train: 0.6, validation: 0.3, test: 0.1, seed: 1", N, before);
    for (size_t i = 0; i < N; i++)
        n_same += before[i] == after[i];
    assert_in_range(n_same, N * 40 / 100, N * 52 / 100); /* 0.36 + 0.09 + 0.01 */
}

static void test_by_field(void **state) {
    struct leat_text text = {.data = NULL};
    static int parts[3000];
    bool has_differed = false;

    (void)state;
    for (int i = 0; i < 3000; i++)
        leat_text_add(&text, "{\"id\": %d, \"user\": \"u%d\", \"n\": %d}\n", i, i % 50, i % 50);
    folder_write("users.jsonl", text.data, text.n_bytes);
    free(text.data);
    for (int by = 0; by < 2; by++) {
        parts_of("jsonl: {paths: [users.jsonl]}",
                 by ? "train: 0.5, validation: 0.3, test: 0.2, input: n"
                    : "train: 0.5, validation: 0.3, test: 0.2, input: user",
                 3000, parts);
        for (int i = 50; i < 3000; i++)
            assert_int_equal(parts[i], parts[i % 50]);
        for (int i = 1; i < 50; i++)
            has_differed |= parts[i] != parts[0];
        assert_true(has_differed);
    }
}

static void test_one_sequence(void **state) {
    (void)state;
    write_documents(600, 50);
    check_one_sequence(DOCUMENTS, "- split: {train: 0.9, validation: 0.1, part: train}\n"
                                  "- shuffle: {buffer_size: 30}\n- select: {fields: [id]}\n"
                                  "- split: {train: 0.9, test: 0.1, part: train, seed: 1}\n"
                                  "- batch: {batch_size: 4}");
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- split: {train: 0.9, validation: 0.2, part: train}",
         "x.yaml:5:9: streams.x.stages[0].split: the fractions of train, validation and test add "
         "up "
         "to 1.1; they must add up to 1"},
        {"- split: {train: 0.9, validation: 0.1}",
         "x.yaml:5:9: streams.x.stages[0].split: part is missing: the part that this stream keeps"},
        {"- split: {train: 0.9, validation: 0.1, part: test}",
         "x.yaml:5:52: streams.x.stages[0].split.part: test has no fraction: give it one, such as "
         "`test: 0.1`"},
        {"- split: {train: 0.9, validation: 0.1, part: dev}",
         "x.yaml:5:52: streams.x.stages[0].split.part: \"dev\" is not one of train, validation, "
         "test"},
        {"- split: {train: nan, validation: 0.1, part: train}",
         "x.yaml:5:24: streams.x.stages[0].split.train: nan is outside 0..1"},
        {"- split: {train: 0.9, validation: 0.1, part: train, input: x}",
         "x.yaml:5:66: streams.x.stages[0].split.input: \"x\" is a list, but split needs one value "
         "per record"},
        {"- split: {train: 0.9, validation: 0.1, part: train, input: f}",
         "x.yaml:5:66: streams.x.stages[0].split.input: \"f\" is float64, but whole numbers or "
         "text are needed: `bin` it, or `cast` it to whole numbers"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1, \"x\": [1], \"f\": 0.5}\n", cases[i].stages, cases[i].error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),   cmocka_unit_test(test_is_stable),
        cmocka_unit_test(test_by_field), cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
