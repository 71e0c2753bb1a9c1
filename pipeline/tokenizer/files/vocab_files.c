/* vocab_files.c: see vocab_files.h.
 *
 * vocab.txt is the vocabulary of a BERT: one token a line, its number from 0 is the id; blanks at
 * the end do not count; of equal tokens the last one counts (as of equal keys in JSON). vocab.json
 * with merges.txt is that of a GPT-2. What the model would refuse is refused here, where the user's
 * own lines are known.
 */
#include "pipeline/tokenizer/files/vocab_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/json_path.h"
#include "pipeline/tokenizer/token_table.h"
#include "pipeline/tokenizer/white_space.h"
#include "proto/base/json_writer.h"
#include "proto/base/utf8.h"

#define END_OF_TEXT "<|endoftext|>"

/* Lines end with LF or CR LF; the last one need not. */
struct lines {
    const struct leat_files_input *input;
    size_t at;
    uint32_t number; /* of the line that was returned, from 1 */
};

/* Sets an error at a line of an input; returns -EINVAL. */
__attribute__((format(printf, 4, 5))) static int fail(const struct leat_files_input *input,
                                                      uint32_t line, struct leat_error *err,
                                                      const char *format, ...) {
    va_list args;

    va_start(args, format);
    leat_error_setv(err, -EINVAL, format, args);
    va_end(args);
    leat_error_locate(err, input->file, line, line ? 1 : 0);
    return -EINVAL;
}

/* 1 and the next line, 0 at the end, or -EINVAL. */
static int next_line(struct lines *lines, const char **ret_line, size_t *ret_n,
                     struct leat_error *err) {
    size_t left = lines->input->n - lines->at;
    const char *line = lines->input->text + lines->at, *newline;

    if (!left)
        return 0;
    newline = memchr(line, '\n', left);
    *ret_line = line;
    *ret_n = newline ? (size_t)(newline - line) : left;
    lines->at += *ret_n + (newline != NULL);
    lines->number++;
    if (newline && *ret_n && line[*ret_n - 1] == '\r')
        --*ret_n;
    if (!leat_utf8_is_valid(line, *ret_n))
        return fail(lines->input, lines->number, err, "the text is not valid UTF-8");
    return 1;
}

/* One of `added_tokens`, special. */
static void put_special(struct leat_text *json, const char *token, int64_t id) {
    leat_json_open(json, NULL, '{');
    leat_json_add_int(json, "id", id);
    leat_json_add_text(json, "content", token);
    leat_json_add_bool(json, "normalized", false);
    leat_json_add_bool(json, "special", true);
    leat_json_close(json, '}');
}

/* [token, id], as post-processors have it. */
static void put_pair(struct leat_text *json, const char *key, const char *token, int64_t id) {
    leat_json_open(json, key, '[');
    leat_json_add_text(json, NULL, token);
    leat_json_add_int(json, NULL, id);
    leat_json_close(json, ']');
}

/* ---- vocab.txt */

enum special { UNK, SEP, CLS, PAD, MASK, N_SPECIAL };

static const char *const specials[N_SPECIAL] = {"[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"};

static size_t trimmed_length(const char *line, size_t n) {
    size_t blank;

    while ((blank = leat_white_space_length_before((const uint8_t *)line, n)) > 0)
        n -= blank;
    return n;
}

/* "token":id,...; ids of the special tokens, -1: not there. */
static int put_tokens(const struct leat_files_input *vocab, struct leat_text *json,
                      int64_t ids[N_SPECIAL], struct leat_error *err) {
    struct lines lines = {.input = vocab};
    const char *line;
    size_t n;
    int r;

    while ((r = next_line(&lines, &line, &n, err)) > 0) {
        if (lines.number > LEAT_TOKEN_TABLE_TOKENS_MAX)
            return fail(vocab, lines.number, err, "has more than %u tokens",
                        LEAT_TOKEN_TABLE_TOKENS_MAX);
        n = trimmed_length(line, n);
        for (int i = 0; i < N_SPECIAL; i++)
            if (strlen(specials[i]) == n && memcmp(specials[i], line, n) == 0)
                ids[i] = lines.number - 1;
        leat_json_line(json);
        leat_json_add_bytes(json, NULL, line, n); /* a key may hold NUL bytes */
        leat_text_add_bytes(json, ": ", 2);
        leat_json_add_uint(json, NULL, lines.number - 1);
    }
    return r;
}

int leat_files_vocab_txt(const struct leat_files_input *vocab,
                         const struct leat_files_config *config, struct leat_text *json,
                         struct leat_error *err) {
    int64_t ids[N_SPECIAL] = {-1, -1, -1, -1, -1};
    int r;

    leat_json_open(json, NULL, '{');
    leat_json_open(json, "model", '{');
    leat_json_add_text(json, "type", "WordPiece");
    leat_json_add_text(json, "unk_token", "[UNK]");
    leat_json_add_text(json, "continuing_subword_prefix", "##");
    leat_json_add_uint(json, "max_input_chars_per_word", 100);
    leat_json_open(json, "vocab", '{');
    r = put_tokens(vocab, json, ids, err);
    if (r < 0)
        return r;
    leat_json_close(json, '}');
    leat_json_close(json, '}');
    for (int i = UNK; i <= CLS; i++)
        if (ids[i] < 0)
            return fail(vocab, 0, err,
                        "has no token %s, which the vocabulary of a BERT model needs", specials[i]);
    leat_json_open(json, "added_tokens", '[');
    for (int i = 0; i < N_SPECIAL; i++)
        if (ids[i] >= 0)
            put_special(json, specials[i], ids[i]);
    leat_json_close(json, ']');
    leat_json_open(json, "normalizer", '{');
    leat_json_add_text(json, "type", "BertNormalizer");
    leat_json_add_bool(json, "clean_text", true);
    leat_json_add_bool(json, "handle_chinese_chars", config->spaces_chinese);
    if (config->strip_accents < 0)
        leat_json_add_null(json, "strip_accents");
    else
        leat_json_add_bool(json, "strip_accents", config->strip_accents);
    leat_json_add_bool(json, "lowercase", config->lowercase);
    leat_json_close(json, '}');
    leat_json_open(json, "pre_tokenizer", '{');
    leat_json_add_text(json, "type", "BertPreTokenizer");
    leat_json_close(json, '}');
    leat_json_open(json, "post_processor", '{');
    leat_json_add_text(json, "type", "BertProcessing");
    put_pair(json, "sep", specials[SEP], ids[SEP]);
    put_pair(json, "cls", specials[CLS], ids[CLS]);
    leat_json_close(json, '}');
    leat_json_open(json, "decoder", '{');
    leat_json_add_text(json, "type", "WordPiece");
    leat_json_add_text(json, "prefix", "##");
    leat_json_add_bool(json, "cleanup", true);
    leat_json_close(json, '}');
    leat_json_close(json, '}');
    return 0;
}

/* ---- vocab.json with merges.txt */

struct merging {
    const struct leat_files_input *vocab, *merges;
    struct leat_text *json;
    struct leat_token_table tokens;
};

static int bad_id(const struct leat_files_input *vocab, const char *key, size_t n_key,
                  struct leat_error *err) {
    const struct leat_json_step step = {.key = key, .n_key = n_key};
    uint32_t line = 0, column = 0;

    (void)leat_json_locate_value((const uint8_t *)vocab->text, vocab->n, &step, 1, &line, &column);
    leat_error_set(err, -EINVAL, "the id of \"%.*s\" must be an integer in 0..%u",
                   (int)(n_key < 64 ? n_key : 64), key, LEAT_TOKEN_TABLE_ID_MAX);
    leat_error_locate(err, vocab->file, line, column);
    return -EINVAL;
}

static int read_members(struct merging *merging, struct leat_json_node root,
                        struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node value;
    const char *key;
    size_t n_key;
    int r = 0;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT)
        return fail(merging->vocab, 1, err, "must be an object of tokens and ids");
    leat_json_iterate(root, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &value)) {
        int64_t id = leat_json_kind(value) == LEAT_JSON_INT ? leat_json_int(value) : -1;
        if (id < 0 || id > LEAT_TOKEN_TABLE_ID_MAX)
            return bad_id(merging->vocab, key, n_key, err);
        r = leat_token_table_add(&merging->tokens, key, n_key, (uint32_t)id, err);
    }
    return r;
}

static int read_vocab(struct merging *merging, struct leat_error *err) {
    const struct leat_files_input *vocab = merging->vocab;
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    if (leat_json_new(vocab->n, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, vocab->text, vocab->n, vocab->n, &root, err);
    if (r == 0)
        r = read_members(merging, root, err);
    if (r < 0)
        leat_error_locate(err, vocab->file, 0, 0);
    leat_json_free(json);
    return r;
}

/* A line is two tokens and a blank between them; the vocabulary must have both and what they make.
 */
static int check_merge(const struct merging *merging, const char *line, size_t n, size_t n_left,
                       uint32_t number, struct leat_error *err) {
    char whole[512];
    size_t n_right = n - n_left - 1;
    const struct {
        const char *text;
        size_t n;
    } parts[] = {{line, n_left}, {line + n_left + 1, n_right}, {whole, n_left + n_right}};

    if (n_left + n_right > sizeof(whole))
        return fail(merging->merges, number, err, "a token has more than %zu bytes", sizeof(whole));
    memcpy(whole, line, n_left);
    memcpy(whole + n_left, line + n_left + 1, n_right);
    for (size_t i = 0; i < 3; i++)
        if (leat_token_table_find(&merging->tokens, parts[i].text, parts[i].n) < 0)
            return fail(merging->merges, number, err, "\"%.*s\" is not in %s",
                        (int)(parts[i].n < 64 ? parts[i].n : 64), parts[i].text,
                        merging->vocab->file);
    return 0;
}

static int put_merge(const struct merging *merging, const char *line, size_t n, uint32_t number,
                     struct leat_error *err) {
    const char *blank = memchr(line, ' ', n);
    size_t n_left = blank ? (size_t)(blank - line) : n;

    if (!blank || memchr(blank + 1, ' ', n - n_left - 1))
        return fail(merging->merges, number, err,
                    "\"%.*s\" must be two tokens with one blank between them",
                    (int)(n < 64 ? n : 64), line);
    leat_json_line(merging->json);
    leat_json_open(merging->json, NULL, '[');
    leat_json_add_bytes(merging->json, NULL, line, n_left);
    leat_json_add_bytes(merging->json, NULL, blank + 1, n - n_left - 1);
    leat_json_close(merging->json, ']');
    return check_merge(merging, line, n, n_left, number, err);
}

static int put_merges(const struct merging *merging, struct leat_error *err) {
    struct lines lines = {.input = merging->merges};
    const char *line;
    size_t n;
    int r;

    while ((r = next_line(&lines, &line, &n, err)) > 0) {
        if (n >= 8 && memcmp(line, "#version", 8) == 0)
            continue;
        r = put_merge(merging, line, n, lines.number, err);
        if (r < 0)
            break;
    }
    return r;
}

/* A ByteLevel as a pre-tokenizer, a post-processor or a decoder. */
static void put_byte_level(struct leat_text *json, const char *key, bool adds_prefix_space,
                           bool trims_offsets) {
    leat_json_open(json, key, '{');
    leat_json_add_text(json, "type", "ByteLevel");
    leat_json_add_bool(json, "add_prefix_space", adds_prefix_space);
    leat_json_add_bool(json, "trim_offsets", trims_offsets);
    leat_json_close(json, '}');
}

int leat_files_vocab_merges(const struct leat_files_input *vocab,
                            const struct leat_files_input *merges,
                            const struct leat_files_config *config, struct leat_text *json,
                            struct leat_error *err) {
    struct merging merging = {.vocab = vocab, .merges = merges, .json = json};
    int r = read_vocab(&merging, err);

    if (r == 0) {
        int32_t end = leat_token_table_find(&merging.tokens, END_OF_TEXT, strlen(END_OF_TEXT));

        leat_json_open(json, NULL, '{');
        leat_json_open(json, "added_tokens", '[');
        if (end >= 0)
            put_special(json, END_OF_TEXT, end);
        leat_json_close(json, ']');
        put_byte_level(json, "pre_tokenizer", config->adds_prefix_space, true);
        put_byte_level(json, "post_processor", true, false);
        put_byte_level(json, "decoder", true, true);
        leat_json_open(json, "model", '{');
        leat_json_add_text(json, "type", "BPE");
        leat_json_add_raw(json, "vocab", vocab->text, vocab->n);
        leat_json_open(json, "merges", '[');
        r = put_merges(&merging, err);
        leat_json_close(json, ']');
        leat_json_close(json, '}');
        leat_json_close(json, '}');
    }
    leat_token_table_deinit(&merging.tokens);
    return r;
}

/* ---- tokenizer_config.json ---- */

void leat_files_config_deinit(struct leat_files_config *config) {
    free(config->pad_token);
    config->pad_token = NULL;
}

/* A string, or an object whose `content` is one. */
static int read_pad_token(const struct leat_component *root, char **ret_token,
                          struct leat_error *err) {
    struct leat_component token;
    const char *text;
    size_t n;
    int r;

    if (!leat_component_get(root, "pad_token", &token))
        return 0;
    if (leat_json_kind(token.node) == LEAT_JSON_OBJECT)
        r = leat_component_string(&token, "content", NULL, &text, &n, err);
    else
        r = leat_component_string(root, "pad_token", NULL, &text, &n, err);
    if (r < 0)
        return r;
    *ret_token = strndup(text, n);
    return *ret_token ? 0 : leat_error_oom(err);
}

static int read_config(const struct leat_component *root, struct leat_files_config *config,
                       struct leat_error *err) {
    struct leat_component child;
    bool strips = false;
    int r;

    if (leat_json_kind(root->node) != LEAT_JSON_OBJECT)
        return leat_component_error(root, err, "must be an object");
    r = leat_component_bool(root, "do_lower_case", true, &config->lowercase, err);
    if (r == 0)
        r = leat_component_bool(root, "tokenize_chinese_chars", true, &config->spaces_chinese, err);
    if (r == 0)
        r = leat_component_bool(root, "add_prefix_space", false, &config->adds_prefix_space, err);
    if (r == 0)
        r = leat_component_bool(root, "strip_accents", false, &strips, err);
    if (r == 0 && leat_component_get(root, "strip_accents", &child))
        config->strip_accents = strips;
    return r < 0 ? r : read_pad_token(root, &config->pad_token, err);
}

/* Parsed as a record, whose numbers may be of any size: transformers writes
 * 1000000000000000019884624838656 as the `model_max_length` of a model without one. */
int leat_files_config_parse(const char *text, size_t n, const char *file,
                            struct leat_files_config *config, struct leat_error *err) {
    struct leat_document document = {.data = text, .n_bytes = n, .file = file};
    struct leat_component root;
    struct leat_json_node node;
    struct leat_json *json;
    int r;

    if (leat_json_new(n, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse_record(json, text, n, n, &node, err);
    if (r == 0) {
        root = leat_component_root(&document, node);
        r = read_config(&root, config, err);
    }
    if (r < 0)
        leat_error_locate(err, file, 0, 0);
    leat_json_free(json);
    return r;
}
