/* test_causal_labels.c: pipeline/stages/causal_labels.c: where there is loss, through tokenize with
 * all that it does to tokens, and what labels are padded with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define SOURCE "jsonl: {paths: [in.jsonl], fields: {messages: json, text: text}}"
#define TALK                                                                                       \
    "{\"messages\": [{\"role\":\"u\",\"content\":\"a b\"},{\"role\":\"assistant\",\"content\":"    \
    "\"c\"},{\"role\":\"u\",\"content\":\"d\"},{\"role\":\"assistant\",\"content\":\"a c\"}]}\n"

/* Letters are tokens 10 to 13, blanks are none; [CLS] A [SEP]. */
static void write_tokenizer(const char *name, const char *truncation) {
    folder_print(
        name,
        "{\"truncation\": %s, \"added_tokens\": [{\"id\": 1, \"content\": \"[CLS]\", \"special\": "
        "true}, {\"id\": 2, \"content\": \"[SEP]\", \"special\": true}, {\"id\": 3, \"content\": "
        "\"</s>\", \"special\": true}],"
        " \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
        " \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[SEP]\", 2], \"cls\": "
        "[\"[CLS]\", 1]},"
        " \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, "
        "\"[CLS]\": 1, \"[SEP]\": 2, \"</s>\": 3, \"a\": 10, \"b\": 11, \"c\": 12, \"d\": 13}}}",
        truncation);
}

static void write_files(void) {
    folder_print("in.jsonl", TALK);
    write_tokenizer("t.json", "null");
}

#define CHAT                                                                                       \
    "- chat: {messages: messages, prefixes: {u: ' ', assistant: ' '}, suffixes: {assistant: "      \
    "'</s>'}}\n"

/* The labels of the record after chat, tokenize and causal_labels. */
static void check_labels(const char *tokenize, const char *labels, const char *expected) {
    struct leat_text stages = {.data = NULL};
    char *rows;

    leat_text_add(&stages,
                  CHAT "- tokenize: {input: text, output: ids, tokenizer: t.json%s}\n"
                       "- causal_labels: {input: ids, %s}\n- select: {fields: [labels]}",
                  tokenize, labels);
    rows = stream_head(SOURCE, "", stages.data, 3, 1);
    if (!strstr(rows, expected))
        fail_msg("%s, %s: \"%s\" is not in %s", tokenize, labels, expected, rows);
    free(stages.data);
    free(rows);
}

static void test_loss(void **state) {
    (void)state;
    write_files();
    check_labels("", "loss_on: all", "[10, 11, 12, 3, 13, 10, 12, 3]");
    check_labels("", "dtype: int32", "[10, 11, 12, 3, 13, 10, 12, 3]");
    check_labels("", "loss_on: assistant", "[-100, -100, 12, 3, -100, 10, 12, 3]");
    check_labels("", "loss_on: completion", "[-100, -100, -100, -100, -100, 10, 12, 3]");
    check_labels("", "loss_on: assistant, ignore_index: -1, dtype: int32",
                 "[-1, -1, 12, 3, -1, 10, 12, 3]");
}

/* What is put around follows what it follows; what is cut off takes its labels along. */
static void test_around(void **state) {
    (void)state;
    write_files();
    check_labels(", add_special_tokens: true", "loss_on: assistant",
                 "[-100, -100, -100, 12, 3, -100, 10, 12, 3, 2]");
    check_labels(", bos: '[CLS]', eos: '[SEP]'", "loss_on: completion",
                 "[-100, -100, -100, -100, -100, -100, 10, 12, 3, 2]");
    check_labels(", max_length: 4", "loss_on: assistant", "[-100, -100, 12, 3]");
    check_labels(", max_length: 4", "loss_on: completion", "[-100, -100, -100, -100]");
    check_labels(", max_length: 5, eos: '[SEP]'", "loss_on: assistant", "[-100, -100, 12, 3, 2]");
    check_labels(", max_length: 4, truncation_side: left", "loss_on: assistant",
                 "[-100, 10, 12, 3]");
    check_labels(", max_length: 6, truncation_side: left", "loss_on: completion",
                 "[-100, -100, -100, 10, 12, 3]");
    check_labels(", return_offsets_mapping: true", "loss_on: assistant",
                 "[-100, -100, 12, 3, -100, 10, 12, 3]");
    check_labels(", max_length: 4", "loss_on: completion, without_loss: fail",
                 "in.jsonl:1: causal_labels.ids: none of the 4 tokens has loss");
}

struct packed_labels {
    int64_t labels[64];
    uint64_t n;
};

struct tensors {
    int64_t labels[32];
    int32_t ids[32], masks[32];
    uint64_t n;
};

static void take_tensors(const struct leat_output *output, void *user) {
    struct tensors *tensors = user;
    const void *labels = batch_tensor(output, "labels", LEAT_DTYPE_INT64, &tensors->n);
    const void *ids = batch_tensor(output, "ids", LEAT_DTYPE_INT32, &tensors->n);
    const void *masks = batch_tensor(output, "assistant_masks", LEAT_DTYPE_INT32, &tensors->n);

    assert_true(tensors->n <= 32);
    memcpy(tensors->labels, labels, tensors->n * sizeof(int64_t));
    memcpy(tensors->ids, ids, tensors->n * sizeof(int32_t));
    memcpy(tensors->masks, masks, tensors->n * sizeof(int32_t));
}

static void check_padding(const char *pads) {
    static const int64_t labels[] = {-7, -7, 12, 3, -7, 10, 12, 3, -7, 12, 3, -7, -7, -7, -7, -7};
    static const int32_t ids[] = {10, 11, 12, 3, 13, 10, 12, 3, 13, 12, 3, 9, 9, 9, 9, 9};
    static const int32_t masks[] = {0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0};
    struct tensors tensors;
    struct leat_text stages = {.data = NULL};
    struct driven driven;

    folder_print("in.jsonl", TALK "{\"messages\": [{\"role\":\"u\",\"content\":\"d\"},{\"role\":"
                                  "\"assistant\",\"content\":\"c\"}]}\n");
    leat_text_add(&stages,
                  CHAT "- tokenize: {input: text, output: ids, tokenizer: t.json, "
                       "return_assistant_tokens_mask: true}\n%s"
                       "- select: {fields: [ids, labels, assistant_masks]}\n"
                       "- batch: {batch_size: 2}",
                  pads);
    driven = drive_stream(
        SOURCE, "", stages.data,
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = take_tensors, .user = &tensors});
    free(stages.data);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(tensors.n, 16);
    assert_memory_equal(tensors.labels, labels, sizeof(labels));
    assert_memory_equal(tensors.ids, ids, sizeof(ids));
    assert_memory_equal(tensors.masks, masks, sizeof(masks));
    assert_int_equal(driven.stats.counts.figures.n_elements,
                     11); /* ids; labels and masks are no tokens */
}

static void take_packed(const struct leat_output *output, void *user) {
    struct packed_labels *packed = user;
    const int64_t *labels = batch_tensor(output, "labels", LEAT_DTYPE_INT64, &packed->n);

    memcpy(packed->labels, labels, packed->n * sizeof(int64_t));
}

#define LABELS "- causal_labels: {input: ids, loss_on: assistant, ignore_index: -7}\n"

static void test_padding(void **state) {
    (void)state;
    write_files();
    check_padding(LABELS "- pad: {input: ids, length: 8, value: 9}\n"
                         "- pad: {input: labels, length: 8}\n"
                         "- pad: {input: assistant_masks, length: 8}\n");
    check_padding("- pad: {input: ids, multiple_of: 4, value: 9}\n" LABELS
                  "- pad: {input: assistant_masks, longest: true}\n");
}

static void check_error(const char *stages, const char *expected) {
    const char *error;

    error = stream_error(SOURCE, "", stages);
    if (!strstr(error, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, error);
}

static void test_refused(void **state) {
    (void)state;
    write_files();
    check_error("- causal_labels: {input: text}",
                "\"text\" is text[], but `causal_labels` needs the int32[]");
    check_error("- tokenize: {input: text, output: input_ids, tokenizer: t.json}\n"
                "- causal_labels: {loss_on: assistant}",
                "leat cannot find the assistant's tokens in \"input_ids\"");
    check_error(CHAT "- lower: {input: text}\n- tokenize: {input: text, output: input_ids, "
                     "tokenizer: t.json}\n- causal_labels: {loss_on: completion}",
                "leat cannot find the assistant's tokens in \"input_ids\"");
    check_error(CHAT "- tokenize: {input: text, pair: messages, output: input_ids, tokenizer: "
                     "t.json, return_assistant_tokens_mask: true}",
                "leat cannot find the assistant's words in \"text\"");
    check_error("- tokenize: {input: text, output: input_ids, vocab: t.json, "
                "return_assistant_tokens_mask: true}",
                "works only with `tokenizer`");
}

/* The first token of a template is never there twice. */
static void test_bos(void **state) {
    const char *chat = "- chat: {messages: messages, prefixes: {u: ' ', assistant: ' '}, bos: "
                       "'[CLS]'}\n";
    char stages[512];
    char *rows;

    (void)state;
    write_files();
    (void)snprintf(stages, sizeof(stages),
                   "%s- tokenize: {input: text, output: ids, tokenizer: t.json}\n"
                   "- select: {fields: [ids]}",
                   chat);
    rows = stream_head(SOURCE, "", stages, 2, 1);
    assert_string_equal(rows, "{\"ids\": [1, 10, 11, 12, 13, 10, 12]}\n");
    free(rows);
    (void)snprintf(stages, sizeof(stages),
                   "%s- tokenize: {input: text, output: ids, tokenizer: t.json, "
                   "add_special_tokens: true}",
                   chat);
    check_error(stages, "add_special_tokens: \"text\" already begins with [CLS], which the "
                        "tokenizer would repeat: set `add_special_tokens: false`");
    (void)snprintf(stages, sizeof(stages),
                   "%s- tokenize: {input: text, output: ids, tokenizer: t.json, bos: '[CLS]'}",
                   chat);
    check_error(stages, "bos: \"text\" already begins with [CLS]");
}

/* ---- with pack and chunk ---- */

#define IDS "- tokenize: {input: text, output: ids, tokenizer: t.json, add_special_tokens: false}\n"

static void check_packed(const char *stages, const int64_t *expected, size_t n) {
    struct leat_text all = {.data = NULL};
    struct packed_labels packed = {.n = 0};
    struct driven driven;

    leat_text_add(&all, "%s- select: {fields: [ids, labels]}\n- batch: {batch_size: 4}", stages);
    driven = drive_stream(
        SOURCE, "", all.data,
        &(struct drive){.options = {.n_epochs = 1}, .on_batch = take_packed, .user = &packed});
    free(all.data);
    if (driven.error.code)
        fail_msg("%s: %s", stages, driven.error.message);
    assert_int_equal(packed.n, n);
    for (size_t i = 0; i < n; i++)
        if (packed.labels[i] != expected[i])
            fail_msg("%s: label %zu is %lld", stages, i, (long long)packed.labels[i]);
}

/* The first token of a document has nothing in its row to be predicted from, whichever of the
 * stages stands first; what is not said has no loss either. */
static void test_pack(void **state) {
    static const int64_t all[] = {-100, 11, 12, -100, 12, -100, -100, -100};
    static const int64_t other[] = {-7, 11, 12, -7, 12, -7, -7, -7};
    static const int64_t said[] = {-100, -100, 12, 3,    -100, 10,   12,   3,
                                   -100, 12,   3,  -100, -100, -100, -100, -100};

    (void)state;
    write_tokenizer("t.json", "null");
    folder_print("in.jsonl", "{\"text\": \"a b c\"}\n{\"text\": \"d c\"}\n");
    check_packed(IDS "- causal_labels: {input: ids}\n"
                     "- pack: {fields: [ids, labels], length: 8, value: 0, how: concat}\n",
                 all, 8);
    check_packed(IDS "- pack: {fields: ids, length: 8, value: 0, how: concat}\n"
                     "- causal_labels: {input: ids}\n",
                 all, 8);
    check_packed(IDS "- pack: {fields: ids, length: 8, value: 0, how: concat, labels: labels}\n",
                 all, 8);
    check_packed(IDS "- causal_labels: {input: ids, ignore_index: -7}\n- cast: {input: labels, "
                     "dtype: int64}\n- rename: {fields: {labels: b}}\n"
                     "- pack: {fields: [ids, b], length: 8, value: 0, how: concat}\n"
                     "- rename: {fields: {b: labels}}\n",
                 other, 8);
    check_packed(IDS "- chunk: {fields: ids, length: 8}\n- causal_labels: {input: ids}\n"
                     "- pack: {fields: [ids, labels], length: 8, value: 0, how: concat}\n",
                 all, 8);
    folder_print("in.jsonl", TALK "{\"messages\": [{\"role\":\"u\",\"content\":\"d\"},{\"role\":"
                                  "\"assistant\",\"content\":\"c\"}]}\n");
    check_packed(CHAT IDS "- pack: {fields: ids, length: 16, value: 0, how: concat}\n"
                          "- causal_labels: {input: ids, loss_on: assistant}\n",
                 said, 16);
    check_packed(CHAT IDS "- causal_labels: {input: ids, loss_on: assistant}\n"
                          "- pack: {fields: [ids, labels], length: 16, value: 0, how: concat}\n",
                 said, 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),    cmocka_unit_test(test_around),  cmocka_unit_test(test_pack),
        cmocka_unit_test(test_padding), cmocka_unit_test(test_refused), cmocka_unit_test(test_bos),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
