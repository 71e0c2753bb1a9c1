/* The stage `tokenize` with the tokenizer of a model: what its arguments do to ids, type ids and
 * offsets, where `pad` has its value from, bad records, digests, and that nothing of it depends on
 * which job had which workspace. Whether ids are right is the business of the tokenizer's own
 * tests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/inspect/explain.h"
#include "tests/pipeline/shared_stream.h"

#define SOURCE    "jsonl: {paths: [a.jsonl]}"
#define N_DROPPED 10000

/* [CLS] A [SEP] B [SEP]; words between blanks. `extra` are members at the top, each with its comma.
 */
static void write_tokenizer(const char *name, const char *extra, const char *unk) {
    folder_print(
        name,
        "{%s\"added_tokens\": [{\"id\": 1, \"content\": \"[CLS]\", \"special\": true},"
        " {\"id\": 2, \"content\": \"[SEP]\", \"special\": true},"
        " {\"id\": 3, \"content\": \"<s>\", \"special\": true}],"
        " \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
        " \"post_processor\": {\"type\": \"TemplateProcessing\","
        "  \"single\": [{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}},"
        "   {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
        "   {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}],"
        "  \"pair\": [{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}},"
        "   {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}},"
        "   {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}},"
        "   {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}},"
        "   {\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 1}}],"
        "  \"special_tokens\": {\"[CLS]\": {\"id\": \"[CLS]\", \"ids\": [1], \"tokens\": "
        "[\"[CLS]\"]}, \"[SEP]\": {\"id\": \"[SEP]\", \"ids\": [2], \"tokens\": [\"[SEP]\"]}}},"
        " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"%s\", \"vocab\": {\"%s\": 0, "
        "\"[CLS]\": 1, \"[SEP]\": 2, \"<s>\": 3, \"a\": 10, \"b\": 11, \"c\": 12, \"d\": 13, "
        "\"\xc3\xa9t\xc3\xa9\": 14}}}",
        extra, unk, unk);
}

static void write_files(void) {
    folder_print("a.jsonl", "{\"n\": 1, \"text\": \"a b c d\", \"more\": \"d \xc3\xa9t\xc3\xa9\"}\n"
                            "{\"n\": 2, \"text\": \"\", \"more\": \"\"}\n"
                            "{\"n\": 3, \"text\": \"\xc3\xa9t\xc3\xa9 a\", \"more\": \"b\"}\n");
    write_tokenizer("t.json", "", "u");
    write_tokenizer("cut.json",
                    "\"truncation\": {\"direction\": \"Left\", \"max_length\": 4, \"strategy\": "
                    "\"LongestFirst\", \"stride\": 0}, ",
                    "u");
    write_tokenizer("padded.json",
                    "\"padding\": {\"strategy\": {\"Fixed\": 9}, \"direction\": \"Left\", "
                    "\"pad_to_multiple_of\": null, \"pad_id\": 7, \"pad_type_id\": 5, "
                    "\"pad_token\": \"x\"}, ",
                    "u");
}

/* What the first record is. */
static void check_head(const char *args, const char *expected) {
    char stages[512];
    char *lines;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, %s}\n"
                   "- template: {output: end, parts: ['1']}\n- cast: {input: end, dtype: int32}\n"
                   "- select: {fields: [end]}",
                   args);
    lines = stream_head(SOURCE, "", stages, 0, 3);
    if (!strstr(lines, expected))
        fail_msg("\"%s\" is not in %s", expected, lines);
    free(lines);
}

static void check_error(const char *args, const char *expected) {
    char stages[512];
    const char *error;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, %s}\n- select: {fields: [ids]}\n"
                   "- pad: {input: ids, length: 64, value: 0}\n- batch: {batch_size: 2}",
                   args);
    error = stream_error(SOURCE, "", stages);
    if (!strstr(error, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, error);
}

static void test_ids(void **state) {
    (void)state;
    write_files();
    check_head("tokenizer: t.json", "\"ids\": [1, 10, 11, 12, 13, 2]}");
    check_head("tokenizer: t.json", "\"ids\": [1, 2]}");
    check_head("tokenizer: t.json", "\"ids\": [1, 14, 10, 2]}");
    check_head("tokenizer: t.json, add_special_tokens: false", "\"ids\": [10, 11, 12, 13]}");
    check_head("tokenizer: t.json, add_special_tokens: false", "\"ids\": []}");
    check_head("tokenizer: t.json, pair: more", "\"ids\": [1, 10, 11, 12, 13, 2, 13, 14, 2]}");
    check_head("tokenizer: t.json, pair: more", "\"ids\": [1, 2, 2]}");
    check_head("tokenizer: padded.json", "\"ids\": [1, 14, 10, 2]}");
}

/* Equal texts of a block share their ids, and no others do, however alike they are. */
static void test_repeats(void **state) {
    static const char *const texts[] = {"a b c d c a b c d", "a b c d", "", "a b c d b a b c d",
                                        "a"};
    static const char *const ids[] = {"[1, 10, 11, 12, 13, 12, 10, 11, 12, 13, 2]",
                                      "[1, 10, 11, 12, 13, 2]", "[1, 2]",
                                      "[1, 10, 11, 12, 13, 11, 10, 11, 12, 13, 2]", "[1, 10, 2]"};
    char lines[4096], *found, *line;
    size_t n = 0;

    (void)state;
    write_files();
    for (size_t i = 0; i < 60; i++)
        n += (size_t)snprintf(lines + n, sizeof(lines) - n, "{\"text\": \"%s\"}\n",
                              texts[i * i % 7 % 5]);
    folder_print("a.jsonl", "%s", lines);
    found = line = stream_head(SOURCE, "",
                               "- tokenize: {input: text, output: ids, tokenizer: t.json}\n"
                               "- template: {output: end, parts: ['1']}\n"
                               "- cast: {input: end, dtype: int32}\n- select: {fields: [end]}",
                               0, 60);
    for (size_t i = 0; i < 60; i++) {
        char expected[128];

        (void)snprintf(expected, sizeof(expected), "{\"text\": \"%s\", \"ids\": %s}\n",
                       texts[i * i % 7 % 5], ids[i * i % 7 % 5]);
        if (strncmp(line, expected, strlen(expected)) != 0)
            fail_msg("row %zu is no %s in %s", i, expected, line);
        line += strlen(expected);
    }
    free(found);
}

static void test_truncation(void **state) {
    (void)state;
    write_files();
    check_head("tokenizer: t.json, max_length: 4", "\"ids\": [1, 10, 11, 2]}");
    check_head("tokenizer: t.json, max_length: 4, truncation_side: left",
               "\"ids\": [1, 12, 13, 2]}");
    check_head("tokenizer: cut.json", "\"ids\": [1, 12, 13, 2]}");
    check_head("tokenizer: cut.json, truncation_side: right", "\"ids\": [1, 10, 11, 2]}");
    check_head("tokenizer: cut.json, max_length: 5", "\"ids\": [1, 11, 12, 13, 2]}");
    check_head("tokenizer: cut.json, truncation: do_not_truncate",
               "\"ids\": [1, 10, 11, 12, 13, 2]}");
    check_head("tokenizer: t.json, max_length: 7, pair: more", "\"ids\": [1, 10, 11, 2, 13, 14, 2");
    check_head("tokenizer: t.json, max_length: 8, pair: more, truncation: only_second",
               "\"ids\": [1, 10, 11, 12, 13, 2, 13, 2");
    check_head("tokenizer: t.json, max_length: 6, pair: more, truncation: only_first",
               "\"ids\": [1, 10, 2, 13, 14, 2");
}

static void test_ends(void **state) {
    (void)state;
    write_files();
    check_head("tokenizer: t.json, bos: '<s>', eos: '[SEP]'", "\"ids\": [3, 1, 10, 11, 12, 13, 2]");
    check_head("tokenizer: t.json, bos: '[CLS]', eos: '<s>'", "\"ids\": [1, 10, 11, 12, 13, 2, 3]");
    check_head("tokenizer: t.json, bos: '[CLS]', eos: '[SEP]', add_special_tokens: false",
               "\"ids\": [1, 10, 11, 12, 13, 2]");
    check_head("tokenizer: t.json, bos: '<s>', max_length: 4", "\"ids\": [3, 1, 10, 2]");
    check_head("tokenizer: t.json, bos: a, eos: b, max_length: 6, truncation_side: left",
               "\"ids\": [10, 1, 12, 13, 2, 11]");
    check_head("tokenizer: cut.json, bos: '<s>'", "\"ids\": [3, 1, 13, 2]");
}

static void test_more_fields(void **state) {
    (void)state;
    write_files();
    check_head("tokenizer: t.json, return_token_type_ids: true, pair: more, eos: '<s>'",
               "\"token_type_ids\": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]}");
    check_head("tokenizer: t.json, return_offsets_mapping: true, bos: '<s>'",
               "\"offset_mapping\": [0, 0, 0, 0, 0, 3, 4, 5, 0, 0]}");
    check_head("tokenizer: t.json, return_offsets_mapping: true, pair: more",
               "\"offset_mapping\": [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 1, 2, 5, 0, 0]}");
    check_head("tokenizer: t.json, return_offsets_mapping: true, return_token_type_ids: true, "
               "max_length: 3",
               "\"ids\": [1, 10, 2], \"token_type_ids\": [0, 0, 0], "
               "\"offset_mapping\": [0, 0, 0, 1, 0, 0]}");
}

static void test_refused(void **state) {
    (void)state;
    write_files();
    check_error("max_length: 5", "tokenize: give `tokenizer`");
    check_error("tokenizer: t.json, vocab: t.json", "give only one of the two");
    check_error("tokenizer: t.json, mode: greedy", "works only with `vocab`");
    check_error("tokenizer: t.json, bos_id: 1", "bos_id: works only with `vocab`");
    check_error("vocab: t.json, pair: text", "pair: works only with `tokenizer`");
    check_error("tokenizer: none.json", "none.json");
    check_error("tokenizer: a.jsonl, max_length: 3", "a.jsonl");
    check_error("tokenizer: t.json, bos: '<bos>'", "the tokenizer has no token \"<bos>\"");
    check_error("tokenizer: t.json, max_length: 2", "leaves no room");
    check_error("tokenizer: t.json, max_length: 4, bos: '<s>', pair: more", "leaves no room");
    check_error("tokenizer: t.json, truncation: only_second", "give `pair`");
    check_error("tokenizer: t.json, truncation: do_not_truncate, max_length: 9", "does not work");
    check_error("tokenizer: t.json, pair: n", "only text can be tokenized");
    check_error("tokenizer: t.json, pair: nothing", "nothing");
    folder_print("broken.json", "{\"model\": {\"type\": \"BPE\", \"vocab\": 5, \"merges\": []}}");
    check_error("tokenizer: broken.json", "broken.json:1:");
}

/* ---- batches */

struct tensor {
    const char *name;
    uint64_t n;
    int32_t values[64];
};

static void take_tensor(const struct leat_output *output, void *user) {
    struct tensor *tensor = user;
    const int32_t *values = batch_tensor(output, tensor->name, LEAT_DTYPE_INT32, &tensor->n);

    assert_true(tensor->n <= 64);
    memcpy(tensor->values, values, tensor->n * sizeof(*values));
}

static void check_tensor(const char *args, const char *name, const int32_t *expected, size_t n) {
    struct tensor tensor = {.name = name};
    char stages[512];
    struct driven driven;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, %s}\n- select: {fields: [%s]}\n"
                   "- pad: {input: %s, longest: true}\n- batch: {batch_size: 3}",
                   args, name, name);
    driven = drive_stream(
        SOURCE, "", stages,
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = take_tensor, .user = &tensor});
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(tensor.n, n);
    assert_memory_equal(tensor.values, expected, n * sizeof(*expected));
}

static void test_padding(void **state) {
    static const int32_t ids[] = {1, 10, 11, 12, 13, 2, 1, 2, 7, 7, 7, 7, 1, 14, 10, 2, 7, 7};
    static const int32_t types[] = {0, 0, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5, 0, 0, 0, 0, 5, 5};
    static const int32_t zeros[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0,
                                    0, 0, 0, 0, 0, 3, 4, 5, 0, 0, 0, 0};

    (void)state;
    write_files();
    check_tensor("tokenizer: padded.json", "ids", ids, 18);
    check_tensor("tokenizer: padded.json, return_token_type_ids: true", "token_type_ids", types,
                 18);
    check_tensor("tokenizer: t.json, add_special_tokens: false, return_offsets_mapping: true",
                 "offset_mapping", zeros, 24);
}

/* A digit for each record "abcd": twice the number of its tokens, and one more if it begins with
 * "ab". */
static void print_draws(const struct leat_output *output, void *user) {
    uint64_t n;
    const int32_t *ids = batch_tensor(output, "ids", LEAT_DTYPE_INT32, &n);

    for (uint64_t i = 0; i < n; i += 4) {
        int n_tokens = 2 + (ids[i + 2] != 9) + (ids[i + 3] != 9);

        leat_text_add(user, "%c", '0' + n_tokens * 2 + (ids[i] == 4));
    }
}

static char *draw_tokens(const char *args, uint64_t n_epochs) {
    struct leat_text draws = {.data = NULL};
    char stages[256];
    struct driven driven;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, tokenizer: drops.json%s}\n"
                   "- select: {fields: [ids]}\n- pad: {input: ids, length: 4, value: 9}\n"
                   "- batch: {batch_size: 100}",
                   args);
    driven = drive_stream(SOURCE, "", stages,
                          &(struct drive){.options = {.n_epochs = n_epochs},
                                          .on_batch = print_draws,
                                          .user = &draws});
    assert_string_equal(driven.error.message, "");
    return draws.data;
}

/* Of "abcd" the merges "a b" and "c d" are each left out with a chance of 0.3 when they come up; a
 * merge that was left out comes up again after another one was carried out. */
static void test_dropout(void **state) {
    static const struct {
        char draw;
        double chance;
    } kinds[] = {
        {'4' + 1, 0.7 * 0.7 * 1.3}, /* ab cd */
        {'6' + 1, 0.7 * 0.3},       /* ab c d */
        {'6', 0.3 * 0.7 * 0.3},     /* a b cd */
        {'8', 0.3 * 0.3},           /* a b c d */
    };
    char *draws, *again;

    (void)state;
    folder_print(
        "drops.json",
        "{\"model\": {\"type\": \"BPE\", \"dropout\": 0.3, \"vocab\": {\"a\": 0, \"b\": 1, "
        "\"c\": 2, \"d\": 3, \"ab\": 4, \"cd\": 5}, \"merges\": [\"a b\", \"c d\"]}}");
    draws = calloc(1, N_DROPPED * 17 + 1);
    assert_non_null(draws);
    for (int i = 0; i < N_DROPPED; i++)
        memcpy(draws + i * 17, "{\"text\": \"abcd\"}\n", 17);
    folder_write("a.jsonl", draws, strlen(draws));
    free(draws);
    draws = draw_tokens("", 1);
    assert_int_equal(strlen(draws), N_DROPPED);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int n = 0;

        for (const char *at = draws; *at; at++)
            n += *at == kinds[i].draw;
        assert_in_range(n, kinds[i].chance * N_DROPPED - 150, kinds[i].chance * N_DROPPED + 150);
    }
    again = draw_tokens("", 1);
    assert_string_equal(again, draws);
    free(again);
    again = draw_tokens(", seed: 1", 1);
    assert_string_not_equal(again, draws);
    free(again);
    again = draw_tokens("", 2); /* each epoch draws anew */
    assert_memory_equal(again, draws, N_DROPPED);
    assert_string_not_equal(again + N_DROPPED, draws);
    free(again);
    free(draws);
}

/* The ids of all records, filled up by that stage. */
static void check_filled(const char *fill, const int32_t *expected, size_t n) {
    struct tensor tensor = {.name = "ids"};
    char stages[512];
    struct driven driven;

    (void)snprintf(stages, sizeof(stages),
                   "- tokenize: {input: text, output: ids, tokenizer: named.json}\n"
                   "- select: {fields: [ids]}\n%s\n- batch: {batch_size: 3}",
                   fill);
    driven = drive_stream(
        SOURCE, "", stages,
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = take_tensor, .user = &tensor});
    assert_string_equal(driven.error.message, "");
    assert_int_equal(tensor.n, n);
    assert_memory_equal(tensor.values, expected, n * sizeof(*expected));
}

/* The token that the file itself names, and any of its tokens by name. */
static void test_named_tokens(void **state) {
    static const int32_t pads[] = {10, 11, 12, 13, 5, 5, 5, 5, 14, 10, 5, 5},
                         named[] = {10, 11, 12, 13, 9, 9, 9, 9, 14, 10, 9, 9},
                         packed[] = {10, 11, 12, 13, 14, 10, 9};

    (void)state;
    write_files();
    folder_print(
        "named.json",
        "{\"added_tokens\": [{\"id\": 5, \"content\": \"<pad>\", \"special\": true},"
        " {\"id\": 9, \"content\": \"[PAD]\", \"special\": false}],"
        " \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
        " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, "
        "\"<pad>\": 5, \"[PAD]\": 9, \"a\": 10, \"b\": 11, \"c\": 12, \"d\": 13, "
        "\"\xc3\xa9t\xc3\xa9\": 14}}}");
    check_filled("- pad: {input: ids, longest: true}", pads, 12);
    check_filled("- pad: {input: ids, longest: true, value: 9}", named, 12);
    check_filled("- pad: {input: ids, longest: true, value: '[PAD]'}", named, 12);
    check_filled("- cast: {input: ids, dtype: int32}\n"
                 "- pad: {input: ids, longest: true, value: '[PAD]'}",
                 named, 12);
    check_filled("- pack: {fields: ids, length: 7, value: '[PAD]', how: concat}", packed, 7);
    check_filled("- pack: {fields: ids, length: 7, value: 9, how: concat}", packed, 7);
    assert_non_null(strstr(stream_error(SOURCE, "",
                                        "- tokenize: {input: text, output: ids, tokenizer: "
                                        "named.json}\n- select: {fields: [ids]}\n"
                                        "- pad: {input: ids, longest: true, value: '<eos>'}"),
                           "pad.value: the tokenizer of \"ids\" has no token \"<eos>\""));
}

/* `pad` needs to be told, unless the file or the one beside it says. */
static void test_pad_token(void **state) {
    static const int32_t ids[] = {1, 10, 11, 12, 13, 2, 1, 2, 3, 3, 3, 3, 1, 14, 10, 2, 3, 3};
    const char *stages = "- tokenize: {input: text, output: ids, tokenizer: t.json}\n"
                         "- select: {fields: [ids]}\n- pad: {input: ids, longest: true}\n"
                         "- batch: {batch_size: 3}";

    (void)state;
    write_files();
    assert_non_null(strstr(stream_error(SOURCE, "", stages), "has no padding token"));
    assert_int_equal(mkdir(folder_path("model"), 0700), 0);
    write_tokenizer("model/tokenizer.json", "", "u");
    folder_print("model/tokenizer_config.json", "{\"pad_token\": \"<s>\"}");
    check_tensor("tokenizer: model", "ids", ids, 18);
    check_tensor("tokenizer: model/tokenizer.json", "ids", ids, 18);
    assert_int_equal(unlink(folder_path("model/tokenizer.json")), 0);
    assert_int_equal(unlink(folder_path("model/tokenizer_config.json")), 0);
    assert_int_equal(rmdir(folder_path("model")), 0);
}

/* Files come through the opener, so what it refuses is not read. */
static int open_some(const struct leat_opener *opener, const char *path, struct leat_error *err) {
    (void)opener;
    if (strstr(path, ".json") && !strstr(path, ".jsonl"))
        return leat_error_set(err, -EACCES, "%s: is not below a root", path);
    return leat_opener_any.open_file(&leat_opener_any, path, err);
}

static void test_opener(void **state) {
    const struct leat_opener opener = {.open_file = open_some,
                                       .open_directory = leat_opener_any.open_directory};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    struct leat_spec *spec;

    (void)state;
    write_files();
    spec = stream_spec(SOURCE, "",
                       "- tokenize: {input: text, output: ids, tokenizer: t.json}\n"
                       "- select: {fields: [ids]}\n- batch: {batch_size: 1}");
    assert_int_equal(leat_pipeline_open(spec, &opener, &plan, &err), -EACCES);
    assert_non_null(strstr(err.message, "is not below a root"));
    assert_string_equal(err.path, "streams.x.stages[0].tokenize.tokenizer");
    assert_true(err.line > 0);
    leat_spec_free(spec);
}

static void test_bad_record(void **state) {
    const char *stages = "- tokenize: {input: text, output: ids, tokenizer: strict.json}\n"
                         "- select: {fields: [ids]}\n- pad: {input: ids, length: 8, value: 0}\n"
                         "- batch: {batch_size: 4}";
    const struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_files();
    folder_print("strict.json", "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": "
                                "{\"type\": \"WordLevel\", \"unk_token\": \"none\", \"vocab\": "
                                "{\"a\": 0, \"b\": 1, \"c\": 2, \"d\": 3}}}");
    driven = drive_stream(SOURCE, "", stages, &how);
    assert_true(driven.error.code < 0);
    assert_int_equal(driven.error.line, 3);
    assert_non_null(strstr(driven.error.path, "tokenize.text"));
    driven = drive_stream(SOURCE, "on_error: skip", stages, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 2);
    assert_int_equal(driven.stats.counts.figures.n_bad_records, 1);
}

/* With another tokenizer under the same name it is another stream. */
static void test_digest(void **state) {
    const char *const args[] = {"tokenizer: model.json", "vocab: model.json, unknown: skip"};
    uint8_t first[LEAT_DIGEST_BYTES];
    char text[512];

    (void)state;
    write_files();
    for (size_t i = 0; i < 2; i++) {
        struct leat_plan *plan;

        (void)snprintf(text, sizeof(text),
                       "- tokenize: {input: text, output: ids, %s}\n- select: {fields: [ids]}\n"
                       "- pad: {input: ids, length: 8, value: 0}\n- batch: {batch_size: 4}",
                       args[i]);
        write_tokenizer("model.json", "", "u");
        plan = stream_plan(SOURCE, "", text);
        memcpy(first, plan->spec_digest, sizeof(first));
        leat_plan_unref(plan);
        plan = stream_plan(SOURCE, "", text);
        assert_memory_equal(first, plan->spec_digest, sizeof(first));
        leat_plan_unref(plan);
        write_tokenizer("model.json", "", "w");
        plan = stream_plan(SOURCE, "", text);
        assert_memory_not_equal(first, plan->spec_digest, sizeof(first));
        leat_plan_unref(plan);
    }
}

static void test_explain(void **state) {
    struct leat_plan *plan;
    char *text;

    (void)state;
    write_files();
    plan = stream_plan(SOURCE, "",
                       "- tokenize: {input: text, output: ids, tokenizer: t.json}\n"
                       "- select: {fields: [ids]}\n- pad: {input: ids, length: 8, value: 0}\n"
                       "- batch: {batch_size: 4}");
    text = stream_explain(plan, 2, false);
    assert_non_null(
        strstr(text, "MiB of loaded files, and up to 28.0 MiB for caches of 2 workers"));
    free(text);
    leat_plan_unref(plan);
}

/* Every job has a workspace of its own, and what is in it never shows. */
static void test_any_order(void **state) {
    const char *stages =
        "- tokenize: {input: text, output: ids, pair: text, tokenizer: t.json, max_length: 32, "
        "return_offsets_mapping: true, return_token_type_ids: true}\n"
        "- tokenize: {input: text, output: again, tokenizer: t.json, add_special_tokens: false}\n"
        "- select: {fields: [ids, again, token_type_ids, offset_mapping]}\n"
        "- pad: {input: ids, length: 32, value: 0}\n- pad: {input: again, longest: true, value: "
        "9}\n"
        "- pad: {input: token_type_ids, length: 32}\n"
        "- pad: {input: offset_mapping, length: 64}\n- batch: {batch_size: 16}";
    FILE *file;
    struct driven first, again;

    (void)state;
    write_files();
    file = fopen(folder_path("a.jsonl"), "w");
    for (int i = 0; i < 6000; i++)
        fprintf(file, "{\"text\": \"a b%.*s \xc3\xa9t\xc3\xa9 d x%d\"}\n", i % 9, " c d a b c",
                i % 77);
    assert_int_equal(fclose(file), 0);
    first = drive_stream(SOURCE, "", stages, &(struct drive){.options = {.n_epochs = 2}});
    assert_int_equal(first.error.code, 0);
    for (uint64_t random = 1; random < 4; random++) {
        const struct drive how = {.options = {.n_epochs = 2},
                                  .n_jobs = 6,
                                  .random = random,
                                  .n_slots = 6,
                                  .in_threads = random > 1};

        again = drive_stream(SOURCE, "block_bytes: 4096", stages, &how);
        assert_int_equal(again.error.code, 0);
        assert_string_equal(first.digest, again.digest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropout),      cmocka_unit_test(test_ids),
        cmocka_unit_test(test_repeats),      cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_more_fields),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_padding),
        cmocka_unit_test(test_named_tokens), cmocka_unit_test(test_pad_token),
        cmocka_unit_test(test_opener),       cmocka_unit_test(test_bad_record),
        cmocka_unit_test(test_digest),       cmocka_unit_test(test_explain),
        cmocka_unit_test(test_any_order),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
