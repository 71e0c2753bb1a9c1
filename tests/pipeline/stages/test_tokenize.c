/* The stage `tokenize`: its arguments, what the plan makes of it, bad records, and that neither
 * block size nor the order of jobs shows in random mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define SOURCE "csv: {paths: [a.csv]}"

static void write_files(void) {
    folder_print("a.csv", "id,text\n1,abc\n2,\"b a\"\n3,\n4,ccc\n");
    folder_print("vocab.txt", "a\nb\nc\n \nab\ncc\n");
    folder_print("scores.txt", "1\n1\n1\n1\n9\n9\n");
    folder_print("tokenizer.json", "{\"added_tokens\": [{\"id\": 6, \"content\": \"<pad>\"}], "
                                   "\"model\": {\"unk_token\": \"u\", \"vocab\": "
                                   "{\"a\": 0, \"b\": 1, \"c\": 2, \"u\": 3}}}");
}

static void check_head(const char *args, const char *expected) {
    char stages[512];
    char *lines;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, %s}\n"
                   "- select: {fields: [ids]}\n- pad: {input: ids, longest: true, value: 0}\n"
                   "- batch: {batch_size: 4}",
                   args);
    lines = stream_head(SOURCE, "", stages, 0, 4);
    if (!strstr(lines, expected))
        fail_msg("\"%s\" is not in %s", expected, lines);
    free(lines);
}

static void check_error(const char *args, const char *expected) {
    char stages[512];
    const char *error;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {%s}\n- select: {fields: [ids]}\n"
                   "- pad: {input: ids, length: 9, value: 0}\n"
                   "- batch: {batch_size: 2}",
                   args);
    error = stream_error(SOURCE, "", stages);
    if (!strstr(error, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, error);
}

/* Where neither is named: the text that was made last, or the only one; and input_ids. */
static void test_defaults(void **state) {
    static const char tokenize[] = "- tokenize: {vocab: vocab.txt}\n";
    char *lines;

    (void)state;
    write_files();
    folder_print("one.csv", "text\nabc\n");
    lines = stream_head("csv: {paths: [one.csv]}", "", tokenize, 0, 1);
    assert_non_null(strstr(lines, "\"input_ids\": [4, 2]"));
    free(lines);
    lines =
        stream_head(SOURCE, "",
                    "- template: {parts: \"c{text}\"}\n- lower: {input: id, output: low}\n"
                    "- template: {output: last, parts: \"cc\"}\n- tokenize: {vocab: vocab.txt}\n",
                    3, 1);
    assert_non_null(strstr(lines, "\"input_ids\": [5]"));
    free(lines);
    assert_non_null(
        strstr(stream_error(SOURCE, "", tokenize),
               "tokenize: `input` is missing, and 2 fields are texts: choose one of id, text"));
    folder_print("two.jsonl", "{\"n\": 1, \"a\": \"x\", \"b\": \"y\"}\n");
    assert_non_null(strstr(stream_error("jsonl: {paths: [two.jsonl]}", "", tokenize),
                           "2 fields are texts: choose one of a, b"));
    folder_print("none.jsonl", "{\"n\": 1}\n");
    assert_non_null(
        strstr(stream_error("jsonl: {paths: [none.jsonl]}", "", tokenize),
               "`input` is missing, and no field is a text: make a text with `template`"));
}

static void test_modes(void **state) {
    (void)state;
    write_files();
    check_head("vocab: vocab.txt", "\"ids\": [4, 2]");
    check_head("vocab: vocab.txt", "\"ids\": [1, 3, 0]");
    check_head("vocab: vocab.txt", "\"ids\": []");
    check_head("vocab: vocab.txt", "\"ids\": [2, 5]");
    check_head("vocab: vocab.txt, mode: greedy", "\"ids\": [5, 2]");
    check_head("vocab: vocab.txt, scores: scores.txt", "\"ids\": [0, 1, 2]");
    check_head("vocab: vocab.txt, bos_id: 8, eos_id: 9, max_length: 3", "\"ids\": [8, 4, 9]");
    check_head("vocab: vocab.txt, max_length: 2, truncation_side: left", "\"ids\": [3, 0]");
    check_head("vocab: tokenizer.json, unknown: unk", "\"ids\": [1, 3, 0]");
    check_head("vocab: tokenizer.json, unknown: unk, unk_id: 7", "\"ids\": [1, 7, 0]");
    check_head("vocab: tokenizer.json, unknown: skip", "\"ids\": [1, 0]");
}

static void test_bad_arguments(void **state) {
    (void)state;
    write_files();
    check_error("output: ids, vocab: vocab.txt", "`input` is missing, and 2 fields are texts");
    check_error("input: txt, output: ids, vocab: vocab.txt", "text");
    check_error("input: text, output: ids, vocab: none.txt", "none.txt");
    check_error("input: text, output: ids, vocab: vocab.txt, unknown: unk", "set `unk_id`");
    check_error("input: text, output: ids, vocab: vocab.txt, max_length: 1, bos_id: 1",
                "leaves no room");
    check_error("input: text, output: ids, vocab: vocab.txt, scores: scores.txt, mode: greedy",
                "`mode: greedy` does not use scores");
    check_error("input: text, output: ids, vocab: vocab.txt, scores: vocab.txt",
                "vocab.txt:1: streams.x.stages[0].tokenize.scores: \"a\" is not a finite number");
    folder_print("double.txt", "a\nb\na\n");
    check_error(
        "input: text, output: ids, vocab: double.txt",
        "double.txt:3: streams.x.stages[0].tokenize.vocab: the lines 1 and 3 have the same token");
    folder_print("costs.txt", "1\n1\n1\n1\n9\n900\n");
    check_error("input: text, output: ids, vocab: vocab.txt, scores: costs.txt, mode: random",
                "costs must be within -600..600");
}

static void test_input_must_be_text(void **state) {
    const char *error;

    (void)state;
    write_files();
    error = stream_error(SOURCE, "",
                         "- cast: {input: id, output: n, dtype: int32}\n"
                         "- tokenize: {input: n, output: ids, vocab: vocab.txt}\n"
                         "- batch: {batch_size: 2}");
    if (!strstr(error, "`n` is int32, but only text can be tokenized"))
        fail_msg("%s", error);
}

static const char *stages_of(const char *args) {
    static char stages[512];

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, %s}\n- select: {fields: [ids]}\n"
                   "- pad: {input: ids, longest: true}\n- batch: {batch_size: 4}",
                   args);
    return stages;
}

static void check_padding(const struct leat_output *output, void *user) {
    uint64_t n;
    const int32_t *ids = batch_tensor(output, "ids", LEAT_DTYPE_INT32, &n);

    assert_int_equal(ids[n - 1], *(const int *)user);
}

/* `value` is stronger than the tokenizer's padding token. */
static void test_pad_value(void **state) {
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_padding};
    struct driven driven;
    int wanted = 3;

    (void)state;
    write_files();
    driven = drive_stream(SOURCE, "", stages_of("vocab: tokenizer.json, unknown: skip"),
                          &(struct drive){.options = {.n_epochs = 1}});
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 4);
    assert_non_null(
        strstr(stream_error(SOURCE, "", stages_of("vocab: vocab.txt, unknown: skip")), "value"));

    how.user = &wanted;
    driven = drive_stream(SOURCE, "",
                          "- tokenize: {input: text, output: ids, vocab: tokenizer.json, unknown: "
                          "skip}\n- select: {fields: [ids]}\n"
                          "- pad: {input: ids, length: 99, value: 3}\n- batch: {batch_size: 4}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_rows, 4);
}

static void test_unknown_is_bad_record(void **state) {
    const char *stages = "- tokenize: {input: text, output: ids, vocab: tokenizer.json}\n"
                         "- select: {fields: [ids]}\n"
                         "- pad: {input: ids, longest: true}\n"
                         "- batch: {batch_size: 4}";
    const struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_files();
    driven = drive_stream(SOURCE, "", stages, &how);
    assert_true(driven.error.code < 0);
    assert_int_equal(driven.error.line, 3);
    assert_non_null(strstr(driven.error.message, "no token of the vocabulary covers \" \" (byte 1 "
                                                 "of 3 of the text): set `unknown` to skip or "
                                                 "unk"));
    driven = drive_stream(SOURCE, "on_error: skip", stages, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 3);
    assert_int_equal(driven.stats.counts.figures.n_bad_records, 1);
}

static void test_random_is_keyed(void **state) {
    const char *stages = "- tokenize: {input: text, output: ids, vocab: vocab.txt, mode: random, "
                         "unknown: skip}\n- select: {fields: [ids]}\n"
                         "- pad: {input: ids, length: 64, value: 0}\n"
                         "- batch: {batch_size: 16}";
    FILE *file = fopen(folder_path("a.csv"), "w");
    struct driven first, again, other;

    (void)state;
    fputs("id,text\n", file);
    for (int i = 0; i < 4000; i++)
        fprintf(file, "%d,ab cc abcc ab %.*s\n", i, i % 9, "abccabcca");
    assert_int_equal(fclose(file), 0);
    folder_print("vocab.txt", "a\nb\nc\n \nab\ncc\n");
    first = drive_stream(SOURCE, "", stages, &(struct drive){.options = {.n_epochs = 2}});
    assert_int_equal(first.error.code, 0);
    again = drive_stream(
        SOURCE, "block_bytes: 4096", stages,
        &(struct drive){.options = {.n_epochs = 2}, .n_jobs = 5, .random = 3, .n_slots = 6});
    assert_string_equal(first.digest, again.digest);
    other = drive_stream(SOURCE, "seed: 5", stages, &(struct drive){.options = {.n_epochs = 2}});
    assert_string_not_equal(first.digest, other.digest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_bad_arguments),   cmocka_unit_test(test_input_must_be_text),
        cmocka_unit_test(test_pad_value),       cmocka_unit_test(test_unknown_is_bad_record),
        cmocka_unit_test(test_random_is_keyed),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
