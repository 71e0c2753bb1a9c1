/* test_describe.c: pipeline/inspect/describe.c, describe_print.c, column_stats.c, row_reader.c:
 * what is said of columns is so, and `normalize` can read it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/describe.h"
#include "pipeline/stages/normalize/normalize.h"
#include "tests/pipeline/shared_records.h"

static void near(double a, double b) {
    if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* ---- histograms and moments ---- */

static void buckets_cover_everything(void **state) {
    uint32_t first, last, next = 0;

    (void)state;
    for (uint32_t i = 0; i < LEAT_LENGTHS_BUCKETS; i++) {
        struct leat_lengths histogram = {.n = 0};
        leat_lengths_bucket(i, &first, &last);
        assert_int_equal(first, next);
        assert_true(last >= first);
        assert_true((double)(last - first) <= 0.032 * first);
        next = last + 1;
        leat_lengths_add(&histogram, first);
        leat_lengths_add(&histogram, last);
        assert_int_equal(histogram.counts[i], 2);
    }
    assert_int_equal(next, 0); /* behind UINT32_MAX */
}

static void percentiles_are_near(void **state) {
    struct leat_lengths histogram = {.n = 0};

    (void)state;
    assert_int_equal(leat_lengths_percentile(&histogram, 50), 0);
    for (uint32_t i = 1; i <= 10000; i++)
        leat_lengths_add(&histogram, i);
    for (unsigned percent = 1; percent <= 100; percent++) {
        uint32_t p = leat_lengths_percentile(&histogram, percent);
        assert_in_range(p, percent * 100, percent * 104);
    }
    assert_int_equal(histogram.min, 1);
    assert_int_equal(leat_lengths_percentile(&histogram, 100), 10000);
}

static void moments_are_those_of_two_passes(void **state) {
    struct leat_moments moments = {.n = 0};
    double values[1000], mean = 0, sum = 0;

    (void)state;
    near(leat_moments_std(&moments), 0);
    for (int i = 0; i < 1000; i++) {
        values[i] = 1e6 + (double)draw(1000) / 7;
        mean += values[i] / 1000;
        leat_moments_add(&moments, values[i]);
    }
    for (int i = 0; i < 1000; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    near(moments.mean, mean);
    assert_true(fabs(leat_moments_std(&moments) - sqrt(sum / 1000)) < 1e-6);
}

/* ---- streams ---- */

static struct leat_text describe(const char *source, const char *options, const char *stages,
                                 bool as_json, uint64_t n_records) {
    struct leat_spec *spec = stream_spec(source, options, stages);
    struct leat_describe_options how = {.after_stage = (int)spec->n_stages - 1,
                                        .n_records = n_records};
    struct leat_description description;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};

    if (leat_describe(spec, &leat_opener_any, &how, &description, &err) < 0)
        fail_msg("%s", err.message);
    leat_description_print(&description, as_json, &text);
    leat_description_deinit(&description);
    leat_spec_free(spec);
    return text;
}

static void check_has(const struct leat_text *text, const char *what) {
    if (!strstr(text->data, what))
        fail_msg("%s\nis not in:\n%s", what, text->data);
}

static void types_are_told(void **state) {
    struct leat_text text;

    (void)state;
    folder_print("in.csv",
                 "i,f,b,t,e,m\n1,1.5,true,x,,1\n-2,2,no,1,,yes\n,nan,,,,\n30,inf,on,,,2\n");
    text = describe("csv: {paths: [in.csv]}", "", "", true, 0);
    check_has(&text, "\"records\": 4, \"bad_records\": 0, \"first_bad\": null");
    check_has(&text,
              "\"i\": {\"type\": \"int64\", \"rows\": 4, \"empty\": 1, \"mean\": 9.6666666666");
    check_has(&text, "\"min\": -2, \"max\": 30, \"count\": 3, \"not_finite\": 0");
    check_has(&text, "\"f\": {\"type\": \"float64\", \"rows\": 4, \"empty\": 0, \"mean\": 1.75, "
                     "\"std\": 0.25, \"min\": 1.5, \"max\": 2, \"count\": 2, \"not_finite\": 2");
    check_has(&text,
              "\"b\": {\"type\": \"bool\", \"rows\": 4, \"empty\": 1, \"length\": {\"min\": 0, "
              "\"max\": 4");
    check_has(&text, "\"t\": {\"type\": \"text\", \"rows\": 4, \"empty\": 2, \"length\"");
    check_has(&text, "\"e\": {\"type\": \"text\", \"rows\": 4, \"empty\": 4, \"length\"");
    check_has(&text, "\"m\": {\"type\": \"text\"");
    free(text.data);
    text = describe("csv: {paths: [in.csv]}", "", "", false, 2);
    check_has(&text, "stream x: 2 records, 0 bad\n");
    free(text.data);
}

static void tokens_are_counted(void **state) {
    struct leat_text text;

    (void)state;
    folder_print("in.jsonl", "{\"t\": \"abc\", \"v\": [1, 2.5]}\n{\"t\": \"\", \"v\": []}\n"
                             "{\"t\": \"bad!\", \"v\": [3]}\n{\"t\": \"cab\", \"v\": [-1]}\n");
    folder_print("vocab", "a\nb\nc\nab\n");
    text = describe("jsonl: {paths: [in.jsonl]}", "",
                    "- tokenize: {input: t, output: t, vocab: vocab}", true, 0);
    check_has(&text, "\"records\": 3, \"bad_records\": 1, \"first_bad\": \"");
    check_has(&text, "in.jsonl:3: ");
    check_has(&text,
              "\"t\": {\"type\": \"int32[]\", \"rows\": 3, \"empty\": 1, \"tokens\": {\"min\": "
              "0, \"max\": 2, \"mean\": 1.3333333333333333, \"sum\": 4, \"p50\": 2");
    check_has(&text,
              "\"histogram\": [{\"from\": 0, \"to\": 0, \"count\": 1}, {\"from\": 2, \"to\": 2, "
              "\"count\": 2}]");
    check_has(&text,
              "\"v\": {\"type\": \"float64[]\", \"rows\": 3, \"empty\": 1, \"mean\": 0.8333");
    free(text.data);
    text = describe("jsonl: {paths: [in.jsonl]}", "",
                    "- tokenize: {input: t, output: t, vocab: vocab}", false, 0);
    check_has(&text, "\nt: 4 tokens; a record has 0 to 2 tokens, 1.3 on average; the median is 2, "
                     "the 90th percentile 2, the 99th 2\n");
    check_has(&text,
              "           2..2                   2  66.7 %  ####################################"
              "####\n");
    free(text.data);
}

/* The last column of a name counts, and what is behind `select` is told all the same. */
static void columns_are_those_of_all_stages(void **state) {
    struct leat_text text;

    (void)state;
    folder_print("in.csv", "a,b\n1,x\n,y\n3,z\n");
    text = describe(
        "csv: {paths: [in.csv]}", "",
        "- cast: {input: a, dtype: float32, default: 8}\n- filter: {input: b, not_equals: x}\n"
        "- rename: {fields: {a: c}}\n- select: {fields: [c]}\n- take: {count: 1}\n"
        "- batch: {batch_size: 1}",
        true, 0);
    check_has(&text, "\"records\": 2");
    check_has(&text, "\"a\": {\"type\": \"float32\", \"rows\": 2, \"empty\": 0, \"mean\": 5.5");
    check_has(&text, "\"b\": {\"type\": \"text\", \"rows\": 2");
    check_has(&text, "\"c\": {\"type\": \"float32\", \"rows\": 2, \"empty\": 0, \"mean\": 5.5");
    free(text.data);
}

/* The file is written by a describe of the very stream that reads it. */
static void normalize_reads_it(void **state) {
    static const char stages[] = "- cast: {input: id, dtype: float32}\n"
                                 "- normalize: {input: id, output: id, stats: stats.json}\n"
                                 "- normalize: {input: id, output: z, mean: 1, std: 2}\n"
                                 "- select: {fields: [id, z]}\n- batch: {batch_size: 10}";
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_normalization stats;
    struct leat_text text;
    char *rows;

    (void)state;
    write_data("data.csv", 0, 1001, 0);
    text = describe(CSV, "block_bytes: 4096", stages, true, 0);
    folder_write("stats.json", text.data, text.n_bytes);
    assert_int_equal(leat_normalization_read(text.data, text.n_bytes, "id", "stats", &stats, &err),
                     0);
    near(stats.mean, 500);
    near(stats.std, sqrt(1001.0 * 1001 - 1) / sqrt(12));
    assert_int_equal(
        leat_normalization_read(text.data, text.n_bytes, "name", "stats", &stats, &err), -EINVAL);
    free(text.data);
    rows = stream_head(CSV, "", stages, 1, 1);
    assert_non_null(strstr(rows, "\"id\": -1.7303"));
    free(rows);
}

static void refuses_what_is_not_there(void **state) {
    struct leat_spec *spec;
    struct leat_describe_options how = {.after_stage = 7};
    struct leat_description description;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    folder_print("in.csv", "a\n1\n");
    spec = stream_spec("csv: {paths: [in.csv]}", "", "");
    assert_int_equal(leat_describe(spec, &leat_opener_any, &how, &description, &err), -EINVAL);
    assert_string_equal(err.message,
                        "stage 7 does not exist: the stream has 0 stages, numbered from 0");
    leat_spec_free(spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_cover_everything),
        cmocka_unit_test(percentiles_are_near),
        cmocka_unit_test(moments_are_those_of_two_passes),
        cmocka_unit_test(types_are_told),
        cmocka_unit_test(tokens_are_counted),
        cmocka_unit_test(columns_are_those_of_all_stages),
        cmocka_unit_test(normalize_reads_it),
        cmocka_unit_test(refuses_what_is_not_there),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
