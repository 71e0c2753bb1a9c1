/* test_concat.c: pipeline/sources/concat.c, plan/sources.c: sources of several kinds as one, with
 * the fields that they have in common. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define BOTH "concat: {sources: [{csv: {paths: data.csv}}, {jsonl: {paths: more.jsonl}}]}"

static void write_both(int64_t n) {
    struct leat_text text = {.data = NULL};

    write_data("data.csv", 0, n, 0);
    for (int64_t id = n; id < 2 * n; id++)
        leat_text_add(&text, "{\"age\": \"%lld\", \"x\": [1], \"id\": \"%lld\"}\n",
                      (long long)(id % 50), (long long)id);
    folder_write("more.jsonl", text.data, text.n_bytes);
    free(text.data);
}

#define STAGES                                                                                     \
    "- cast: {input: id, dtype: int64}\n- cast: {input: age, dtype: float32, default: -1}\n"

static void test_one_behind_the_other(void **state) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 2}, .on_batch = collect, .user = &ids};
    struct driven driven;

    (void)state;
    write_both(1000);
    driven = drive_stream(BOTH, "block_bytes: 4096", STAGES "- batch: {batch_size: 7}", &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(ids.n_values, 4000);
    for (int64_t i = 0; i < 4000; i++)
        assert_int_equal(ids.values[i], i % 2000);
    collected_free(&ids);
    check_one_sequence(BOTH,
                       STAGES "- shuffle: {buffer_size: 300}\n- filter: {input: age, min: 9}\n"
                              "- batch: {batch_size: 7}");
}

/* The schema has what all have, in the order of the first; nothing else is parsed. */
static void test_schema(void **state) {
    struct leat_plan *plan;
    char *rows;

    (void)state;
    write_both(2);
    plan = stream_plan(BOTH, "", STAGES "- select: {fields: [age]}");
    assert_int_equal(plan->n_sources, 2);
    assert_int_equal(plan->n_source_fields, 2);
    assert_string_equal(plan->source_names[0], "id");
    assert_string_equal(plan->source_names[1], "age");
    for (uint32_t i = 0; i < plan->n_columns; i++)
        assert_int_equal(plan->is_needed[i], strcmp(plan->fields[i].name, "age") == 0);
    leat_plan_unref(plan);
    rows = stream_head(BOTH, "", STAGES, 0, 10);
    assert_string_equal(rows, "{\"id\": 0, \"age\": \"0.0\"}\n{\"id\": 1, \"age\": \"1.1\"}\n"
                              "{\"id\": 2, \"age\": \"2\"}\n{\"id\": 3, \"age\": \"3\"}\n");
    free(rows);
}

/* Columns that stay and columns that the pass needs alone, with rows that are dropped. */
static void test_columns_move(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven a, b;
    struct leat_text text = {.data = NULL};

    (void)state;
    write_both(500);
    leat_text_add(&text, "id,age\n");
    for (int64_t id = 0; id < 500; id++) {
        if (id % 10 == 3)
            leat_text_add(&text, "%lld,\n", (long long)id);
        else
            leat_text_add(&text, "%lld,%lld.%lld\n", (long long)id, (long long)(id % 80),
                          (long long)(id % 4));
    }
    for (int64_t id = 500; id < 1000; id++)
        leat_text_add(&text, "%lld,%lld\n", (long long)id, (long long)(id % 50));
    folder_write("same.csv", text.data, text.n_bytes);
    free(text.data);
#define DROPS                                                                                      \
    "- filter: {input: age, min: 20}\n" STAGES "- template: {output: t, parts: ['{id} {age}']}\n"  \
    "- hash_bucket: {input: t, buckets: 1000000007}\n- batch: {batch_size: 9}"
    a = drive_stream(BOTH, "", DROPS, &how);
    b = drive_stream("csv: {paths: same.csv}", "", DROPS, &how);
    assert_string_equal(a.error.message, "");
    assert_in_range(a.n_rows, 300, 900);
    assert_string_equal(a.digest, b.digest);
}

static void test_bad_records(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;
    char *text;

    (void)state;
    write_both(50);
    folder_print("bad.csv", "id,age\n1,2\n3,4,5\n");
    driven = drive_stream("concat: {sources: [{jsonl: {paths: more.jsonl}}, {csv: {paths: "
                          "bad.csv}}]}",
                          "on_error: quarantine\n    quarantine: bad.jsonl", STAGES, &how);
    assert_int_equal(driven.n_rows, 51);
    text = folder_read("bad.jsonl");
    assert_non_null(strstr(text, "bad.csv\", \"line\": 3"));
    assert_non_null(strstr(text, "\"stage\": \"csv\""));
    free(text);
}

static void digest(const char *source, char *hex) {
    struct leat_plan *plan = stream_plan(source, "", STAGES);

    leat_digest_hex(plan->spec_digest, hex);
    leat_plan_unref(plan);
}

/* What the sources are, and their order, is what the stream is. */
static void test_digest(void **state) {
    char a[LEAT_DIGEST_HEX_SIZE], b[LEAT_DIGEST_HEX_SIZE];

    (void)state;
    write_both(5);
    digest(BOTH, a);
    digest("concat: {sources: [{jsonl: {paths: more.jsonl}}, {csv: {paths: data.csv}}]}", b);
    assert_string_not_equal(a, b);
    digest("concat: {sources: [{csv: {paths: data.csv, delimiter: ','}}, {jsonl: {paths: "
           "[more.jsonl]}}]}",
           b);
    assert_string_equal(a, b);
    digest("concat: {sources: [{csv: {paths: [data.csv, data.csv]}}, {jsonl: {paths: "
           "more.jsonl}}]}",
           b);
    assert_string_equal(a, b); /* data has a digest of its own */
    digest("concat: {sources: [{csv: {paths: data.csv, invalid_utf8: fail}}, {jsonl: {paths: "
           "[more.jsonl]}}]}",
           b);
    assert_string_not_equal(a, b);
}

static void test_refused(void **state) {
    (void)state;
    write_both(3);
    folder_print("other.jsonl", "{\"id\": 5, \"age\": [1]}\n");
    assert_string_equal(
        stream_error("concat: {sources: [{csv: {paths: data.csv}}, {jsonl: {paths: other.jsonl}}]}",
                     "", STAGES),
        "x.yaml:3:32: streams.x.source.concat.sources: no field has the same name and type in all "
        "sources: rename or cast fields in the `stages` of each source");
    assert_string_equal(
        stream_error("concat: {sources: [{jsonl: {paths: other.jsonl}}, {jsonl: {paths: "
                     "more.jsonl}}, {jsonl: {paths: other.jsonl}}]}",
                     "", STAGES),
        "x.yaml:3:32: streams.x.source.concat.sources: no field has the same name and type in all "
        "sources: rename or cast fields in the `stages` of each source");
    folder_print("other.jsonl", "{\"id\": \"5\", \"age\": [1]}\n");
    assert_string_equal(
        stream_error("concat: {sources: [{jsonl: {paths: other.jsonl}}, {jsonl: {paths: "
                     "more.jsonl}}]}",
                     "", STAGES),
        "x.yaml:6:23: streams.x.stages[1].cast.input: \"age\" is not a field here: it has type "
        "int64 lists in sources[0] but text in sources[1]");
    assert_string_equal(stream_error("concat: {sources: []}", "", STAGES),
                        "x.yaml:3:32: streams.x.source.concat.sources: the list has 0 items, which "
                        "is outside 1..256");
    assert_string_equal(
        stream_error("concat: {sources: [{concat: {sources: [{csv: {paths: data.csv}}]}}]}", "",
                     STAGES),
        "x.yaml:3:34: streams.x.source.concat.sources[0].concat: cannot be a source in concat: you "
        "can nest only a `concat` in a `mix`");
}

/* ---- what is known of a common field ---- */

static const struct leat_field *field_of(const struct leat_plan *plan, const char *name) {
    for (uint32_t i = plan->n_columns; i > 0; i--)
        if (strcmp(plan->fields[i - 1].name, name) == 0)
            return &plan->fields[i - 1];
    fail_msg("there is no field %s", name);
    return NULL;
}

static void tokenized(int n, const char *args, char *source, size_t size) {
    (void)snprintf(source, size,
                   "{jsonl: {paths: %d.jsonl}, stages: [{tokenize: {input: t, output: ids, vocab: "
                   "vocab.txt, mode: greedy%s}}]}",
                   n, args);
}

/* A batch has room for the longest row of any source, wherever that source is. */
static void test_lengths(void **state) {
    static const struct {
        int a, b;
        uint64_t expected;
    } cases[] = {{8, 16, 16}, {16, 8, 16}, {8, 8, 8}, {1, 30, 30}};

    (void)state;
    folder_print("vocab.txt", "a\nb\n");
    for (int i = 0; i < 2; i++)
        folder_print(i ? "1.jsonl" : "0.jsonl", "{\"t\": \"%.*s\"}\n{\"t\": \"b\"}\n", 40,
                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct drive how = {.options = {.n_epochs = 1}};
        char first[256], second[256], source[600], args[64];
        struct leat_plan *plan;
        struct driven driven;

        (void)snprintf(args, sizeof(args), ", max_length: %d", cases[i].a);
        tokenized(0, args, first, sizeof(first));
        (void)snprintf(args, sizeof(args), ", max_length: %d", cases[i].b);
        tokenized(1, args, second, sizeof(second));
        (void)snprintf(source, sizeof(source), "concat: {sources: [%s, %s]}", first, second);
        plan = stream_plan(source, "",
                           "- select: {fields: [ids]}\n"
                           "- pad: {input: ids, longest: true, value: 0}\n"
                           "- batch: {batch_size: 4}");
        assert_int_equal(field_of(plan, "ids")->max_length, cases[i].expected);
        driven = drive(plan, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_rows, 4);
        assert_int_equal(driven.n_growths, 0);
        leat_plan_unref(plan);
    }
}

/* A text with special tokens of a model cannot be told from one without by its tokenizer. */
static void test_special_tokens(void **state) {
    static const char *const refused =
        "x.yaml:3:32: streams.x.source.concat.sources: the text \"text\" has special tokens in "
        "some "
        "sources but not in others: `tokenize` it in the stages of each source";
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"template: chatml", "template: chatml", true},
        {"template: llama-3", "template: llama-3", true},
        {"template: chatml", "template: llama-3", false},
        {"template: llama-3", "template: chatml", false},
        {"template: llama-3", "template: mistral", false},
        {"template: chatml", "", false},
        {"", "template: llama-3", false},
    };

    (void)state;
    folder_print("0.jsonl", "{\"m\": [{\"role\": \"user\", \"content\": \"hi\"}], \"t\": \"x\"}\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_text source = {.data = NULL};
        const char *of[2] = {cases[i].a, cases[i].b};
        const char *stages = "- tokenize: {input: text, output: ids, vocab: vocab.txt, mode: "
                             "greedy, max_length: 8}\n- select: {fields: [ids]}\n"
                             "- pad: {input: ids, longest: true, value: 0}\n"
                             "- batch: {batch_size: 4}";

        leat_text_add(&source, "concat: {sources: [");
        for (int k = 0; k < 2; k++) {
            leat_text_add(&source,
                          "%s{jsonl: {paths: 0.jsonl, fields: {m: json, t: text}}, stages: [",
                          k ? ", " : "");
            if (of[k][0])
                leat_text_add(&source, "{chat: {messages: m, output: text, %s}}]}", of[k]);
            else
                leat_text_add(&source, "{template: {output: text, parts: ['{t}']}}]}");
        }
        leat_text_add(&source, "]}");
        if (cases[i].is_same)
            leat_plan_unref(stream_plan(source.data, "", stages));
        else
            assert_string_equal(stream_error(source.data, "", stages), refused);
        free(source.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_behind_the_other),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_columns_move),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_special_tokens),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
