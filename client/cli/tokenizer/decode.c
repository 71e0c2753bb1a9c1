/* decode.c: `leatctl tokenizer decode`: turns lines of token ids into text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/line_input.h"
#include "client/cli/tokenizer/text.h"
#include "pipeline/tokenizer/tokenizer.h"
#include "proto/base/array.h"
#include "proto/base/json_writer.h"

struct decoder {
    const struct leat_cli_arguments *arguments;
    struct leat_tokenizer *tokenizer;
    struct leat_json *json;
    struct leat_cli_lines lines;
    int32_t *ids; /* of one line */
    size_t n_ids, capacity;
    bool skips_special;
    struct leat_text out;
};

static int add_id(struct decoder *self, int32_t id, struct leat_error *err) {
    if (!leat_array_reserve(&self->ids, self->n_ids + 1, &self->capacity))
        return leat_error_oom(err);
    self->ids[self->n_ids++] = id;
    return 0;
}

/* ---- ids separated by blanks */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static int bad_id(const char *line, const char *word, const char *end, struct leat_error *err) {
    int n = 0;

    while (word + n < end && n < 32 && !is_blank(word[n]))
        n++;
    leat_error_set(err, -EINVAL, "\"%.*s\" is not a token id; ids are whole numbers in 0..%d", n,
                   word, INT32_MAX);
    err->column = (uint32_t)(word - line) + 1;
    return -EINVAL;
}

static int read_ids(struct decoder *self, const char *line, size_t n, struct leat_error *err) {
    const char *at = line, *end = line + n;
    int r = 0;

    while (r == 0) {
        const char *word;
        int64_t id = 0;

        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            return 0;
        word = at;
        while (at < end && *at >= '0' && *at <= '9' && id <= INT32_MAX)
            id = 10 * id + (*at++ - '0');
        if (at == word || id > INT32_MAX || (at < end && !is_blank(*at)))
            return bad_id(line, word, end, err);
        r = add_id(self, (int32_t)id, err);
    }
    return r;
}

/* ---- JSON */

static int read_array(struct decoder *self, struct leat_json_node array, struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item;
    size_t index = 0;
    int r = 0;

    leat_json_iterate(array, &iterator);
    for (; r == 0 && leat_json_next(&iterator, &item); index++) {
        if (leat_json_kind(item) == LEAT_JSON_INT && leat_json_int(item) >= 0 &&
            leat_json_int(item) <= INT32_MAX)
            r = add_id(self, (int32_t)leat_json_int(item), err);
        else
            r = leat_error_set(err, -EINVAL,
                               "this is not a token id; ids are whole numbers in 0..%d", INT32_MAX);
    }
    if (r < 0)
        leat_error_prefix(err, "ids[%zu]", index - 1);
    return r;
}

static int read_request(struct decoder *self, const char *line, size_t n, struct leat_error *err) {
    struct leat_json_node object, ids;
    int r = leat_cli_request_parse(self->json, line, n, &object, err);

    if (r == 0)
        r = leat_cli_request_required(object, "ids", LEAT_JSON_ARRAY, &ids, err);
    if (r == 0)
        r = leat_cli_request_bool(object, "skip_special", &self->skips_special, err);
    return r < 0 ? r : read_array(self, ids, err);
}

/* ---- lines */

static int print_text(struct decoder *self, const char *text, size_t n, struct leat_error *err) {
    struct leat_text *out = &self->out;

    if (self->arguments->jsonl || self->arguments->json) {
        leat_json_open(out, NULL, '{');
        leat_json_add_bytes(out, "t", text, n);
        leat_json_close(out, '}');
    } else {
        leat_text_add_bytes(out, text, n);
    }
    return leat_cli_lines_answer(out, err);
}

static int answer_line(struct decoder *self, const char *line, size_t n_line,
                       struct leat_error *err) {
    char *text = NULL;
    size_t n_text;
    int r;

    self->n_ids = 0;
    self->skips_special = self->arguments->skip_special;
    r = self->arguments->jsonl ? read_request(self, line, n_line, err)
                               : read_ids(self, line, n_line, err);
    if (r == 0)
        r = leat_tokenizer_decode(self->tokenizer, self->ids, self->n_ids, self->skips_special,
                                  &text, &n_text, err);
    if (r < 0) {
        leat_cli_lines_locate(&self->lines, err);
        return r;
    }
    r = print_text(self, text, n_text, err);
    free(text);
    return r;
}

static int tokenizer_decode_main(const struct leat_cli_arguments *arguments,
                                 struct leat_error *err) {
    struct decoder self = {.arguments = arguments, .lines = {.fd = STDIN_FILENO}};
    const char *line;
    size_t n_line;
    int r;

    r = leat_tokenizer_open(arguments->operand, NULL, &self.tokenizer, err);
    if (r == 0 && leat_json_new(1 << 16, &self.json) < 0)
        r = leat_error_oom(err);
    while (r == 0 && (r = leat_cli_lines_next(&self.lines, &line, &n_line, err)) > 0)
        r = answer_line(&self, line, n_line, err);
    leat_tokenizer_free(self.tokenizer);
    leat_json_free(self.json);
    leat_cli_lines_deinit(&self.lines);
    free(self.ids);
    free(self.out.data);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static const struct leat_cli_option tokenizer_decode_options[] = {
    LEAT_CLI_OPTION(FLAG, "skip-special", skip_special, "leave out special tokens"),
    LEAT_CLI_OPTION(FLAG, "jsonl", jsonl,
                    "each input line is {\"ids\": [ids]}; \"skip_special\" is optional"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_tokenizer_decode_command = {
    .name = "tokenizer decode",
    .group = LEAT_CLI_GROUP_TOKENIZERS,
    .summary = "turn lines of token ids into text",
    .description = TOKENIZER_TEXT
    "Reads lines of token ids, separated by blanks, from the standard input. For each line\n"
    "it prints the text and a line end. It leaves out unknown ids.\n"
    "\n"
    "If texts contain line ends, use --jsonl. Each input line is then {\"ids\": [...],\n"
    "\"skip_special\": true}, and each answer is {\"t\": text}.",
    .operand = "TOKENIZER",
    .examples = "  leatctl tokenizer encode gpt2/ < a.txt | leatctl tokenizer decode gpt2/\n"
                "  echo '{\"ids\": [101, 7592, 102], \"skip_special\": true}' |\n"
                "      leatctl tokenizer decode bert/vocab.txt --jsonl\n",
    .options = tokenizer_decode_options,
    .run = tokenizer_decode_main,
};
