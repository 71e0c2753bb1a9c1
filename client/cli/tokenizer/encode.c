/* encode.c: `leatctl tokenizer encode`: turns lines of text into token ids. One text is in memory
 * at a time, and answers are flushed before each read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/line_input.h"
#include "client/cli/tokenizer/text.h"
#include "pipeline/tokenizer/tokenizer.h"
#include "proto/base/json_writer.h"

#define NUMBER_BYTES 12 /* at most, of a number with its separator */
#define RANGE_BYTES  26

struct encoder {
    const struct leat_cli_arguments *arguments;
    struct leat_tokenizer *tokenizer;
    struct leat_tokenizer_context *context;
    struct leat_json *json;
    struct leat_cli_lines lines;
    struct leat_text out; /* of one line */
};

/* The request of one line. */
struct request {
    const char *text, *pair; /* pair NULL: none */
    size_t n_text, n_pair;
    bool special, type_ids, offsets;
};

/* ---- out */

static char *put_number(char *at, uint32_t value) {
    char digits[10];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

static void add_number_list(struct leat_text *out, const uint32_t *values, size_t n,
                            const char *between) {
    size_t n_between = strlen(between);
    char *at;

    if (!leat_text_reserve(out, n * NUMBER_BYTES))
        return;
    at = out->data + out->n_bytes;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            at = mempcpy(at, between, n_between);
        at = put_number(at, values[i]);
    }
    out->n_bytes = (size_t)(at - out->data);
}

static void add_ranges(struct leat_text *out, const struct leat_range *ranges, size_t n) {
    char *at;

    if (!leat_text_reserve(out, n * RANGE_BYTES))
        return;
    at = out->data + out->n_bytes;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            at = mempcpy(at, ", ", 2);
        *at++ = '[';
        at = put_number(at, ranges[i].start);
        at = mempcpy(at, ", ", 2);
        at = put_number(at, ranges[i].end);
        *at++ = ']';
    }
    out->n_bytes = (size_t)(at - out->data);
}

static void add_json(struct leat_text *out, const struct request *request,
                     const struct leat_encoding *encoding) {
    leat_json_open(out, NULL, '{');
    leat_json_open(out, "ids", '[');
    add_number_list(out, (const uint32_t *)encoding->ids, encoding->n, ", ");
    leat_json_close(out, ']');
    if (request->type_ids) {
        leat_json_open(out, "type_ids", '[');
        add_number_list(out, encoding->type_ids, encoding->n, ", ");
        leat_json_close(out, ']');
    }
    if (request->offsets) {
        leat_json_open(out, "off", '[');
        add_ranges(out, encoding->offsets, encoding->n);
        leat_json_close(out, ']');
    }
    leat_json_close(out, '}');
}

static int print_encoding(struct encoder *self, const struct request *request,
                          const struct leat_encoding *encoding, struct leat_error *err) {
    struct leat_text *out = &self->out;

    if (self->arguments->jsonl || self->arguments->json || request->type_ids || request->offsets)
        add_json(out, request, encoding);
    else
        add_number_list(out, (const uint32_t *)encoding->ids, encoding->n, " ");
    return leat_cli_lines_answer(out, err);
}

/* ---- in */

static int read_request(struct encoder *self, const char *line, size_t n_line,
                        struct request *request, struct leat_error *err) {
    struct leat_json_node object, text, pair;
    int r = leat_cli_request_parse(self->json, line, n_line, &object, err);

    if (r == 0)
        r = leat_cli_request_required(object, "t", LEAT_JSON_STRING, &text, err);
    if (r == 0)
        r = leat_cli_request_bool(object, "special", &request->special, err);
    if (r == 0)
        r = leat_cli_request_bool(object, "type_ids", &request->type_ids, err);
    if (r == 0)
        r = leat_cli_request_bool(object, "off", &request->offsets, err);
    if (r == 0)
        r = leat_cli_request_member(object, "pair", LEAT_JSON_STRING, &pair, err);
    if (r < 0)
        return r;
    request->text = leat_json_string(text, &request->n_text);
    if (r > 0)
        request->pair = leat_json_string(pair, &request->n_pair);
    return 0;
}

static int encode_text(struct encoder *self, const struct request *request,
                       const struct leat_encoding **ret_encoding, struct leat_error *err) {
    const struct leat_encode_options options = {
        .adds_special_tokens = request->special,
        .drops_overflow = true,
        .offsets_in_chars = true,
        .columns = (request->type_ids ? LEAT_ENCODING_TYPE_IDS : 0U) |
                   (request->offsets ? LEAT_ENCODING_OFFSETS : 0U),
    };
    size_t n_encodings;

    return leat_tokenizer_encode(self->tokenizer, self->context, request->text, request->n_text,
                                 request->pair, request->n_pair, &options, ret_encoding,
                                 &n_encodings, err);
}

static int answer_line(struct encoder *self, const char *line, size_t n_line,
                       struct leat_error *err) {
    const struct leat_cli_arguments *arguments = self->arguments;
    struct request request = {.text = line,
                              .n_text = n_line,
                              .special = arguments->special,
                              .type_ids = arguments->type_ids,
                              .offsets = arguments->offsets};
    const struct leat_encoding *encoding;
    int r = arguments->jsonl ? read_request(self, line, n_line, &request, err) : 0;

    if (r == 0)
        r = encode_text(self, &request, &encoding, err);
    if (r < 0) {
        leat_cli_lines_locate(&self->lines, err);
        return r;
    }
    return print_encoding(self, &request, encoding, err);
}

static int answer_all(struct encoder *self, struct leat_error *err) {
    const char *line;
    size_t n_line;
    int r = 0;

    while (r == 0 && (r = leat_cli_lines_next(&self->lines, &line, &n_line, err)) > 0)
        r = answer_line(self, line, n_line, err);
    return r;
}

static int open_all(struct encoder *self, struct leat_error *err) {
    int r = leat_tokenizer_open(self->arguments->operand, NULL, &self->tokenizer, err);

    if (r == 0 && (leat_tokenizer_context_new(self->tokenizer, &self->context) < 0 ||
                   leat_json_new(1 << 16, &self->json) < 0))
        r = leat_error_oom(err);
    return r;
}

static int tokenizer_encode_main(const struct leat_cli_arguments *arguments,
                                 struct leat_error *err) {
    struct encoder self = {.arguments = arguments, .lines = {.fd = STDIN_FILENO}};
    int r;

    r = open_all(&self, err);
    if (r == 0)
        r = answer_all(&self, err);
    leat_tokenizer_context_free(self.context);
    leat_tokenizer_free(self.tokenizer);
    leat_json_free(self.json);
    leat_cli_lines_deinit(&self.lines);
    free(self.out.data);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static const struct leat_cli_option tokenizer_encode_options[] = {
    LEAT_CLI_OPTION(FLAG, "special", special, "add the tokenizer's special tokens"),
    LEAT_CLI_OPTION(FLAG, "offsets", offsets,
                    "print JSON, with the start and end of each token in characters"),
    LEAT_CLI_OPTION(
        FLAG, "type-ids", type_ids,
        "print JSON, with 0 for tokens of the text and 1 for tokens of the second text (pair)"),
    LEAT_CLI_OPTION(FLAG, "jsonl", jsonl,
                    "each input line is {\"t\": text}; \"pair\", \"special\", \"off\" and "
                    "\"type_ids\" are optional"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_tokenizer_encode_command = {
    .name = "tokenizer encode",
    .group = LEAT_CLI_GROUP_TOKENIZERS,
    .summary = "turn lines of text into token ids",
    .description = TOKENIZER_TEXT
    "Reads lines of text from the standard input. For each line it prints the token ids on\n"
    "one line, separated by blanks. The ids equal those of Hugging Face tokenizers with\n"
    "the same TOKENIZER, including its truncation and padding. Bytes that are not UTF-8\n"
    "become U+FFFD.\n"
    "\n"
    "With --jsonl, each input line is an object: {\"t\": text, \"pair\": second text,\n"
    "\"special\": true, \"off\": true, \"type_ids\": true}. Only t is required. The answer is\n"
    "{\"ids\": [...], \"type_ids\": [...], \"off\": [[start, end], ...]}, with the members that\n"
    "you asked for.",
    .operand = "TOKENIZER",
    .examples = "  leatctl tokenizer encode gpt2/ < corpus.txt > corpus.ids\n"
                "  leatctl tokenizer encode tokenizer.json --special --offsets < corpus.txt\n"
                "  echo '{\"t\": \"a text\", \"pair\": \"and another\", \"special\": true}' |\n"
                "      leatctl tokenizer encode tokenizer.json --jsonl --type-ids\n",
    .options = tokenizer_encode_options,
    .run = tokenizer_encode_main,
};
