/* files_vocab_txt.c: the vocabulary of a BERT to a tokenizer.json. See files_vocab.h.
 *
 * One token a line, its number from 0 is the id; blanks at the end do not count; of equal tokens
 * the last one counts (as of equal keys in JSON).
 */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/files_vocab.h"
#include "pipeline/tokenizer/token_table.h"
#include "pipeline/tokenizer/white_space.h"

enum special { UNK, SEP, CLS, PAD, MASK, N_SPECIAL };

static const char *const specials[N_SPECIAL] = {"[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"};

struct reading {
    const struct leat_files_input *vocab;
    struct leat_files_text *json;
    int64_t ids[N_SPECIAL]; /* -1: not there */
};

int leat_files_error(const struct leat_files_input *input, uint32_t line, struct leat_error *err,
                     const char *format, ...) {
    va_list args;

    va_start(args, format);
    leat_error_setv(err, -EINVAL, format, args);
    va_end(args);
    leat_error_locate(err, input->file, line, line ? 1 : 0);
    return -EINVAL;
}

static size_t trimmed_length(const char *line, size_t n) {
    size_t blank;

    while ((blank = leat_white_space_length_before((const uint8_t *)line, n)) > 0)
        n -= blank;
    return n;
}

static void note_special(struct reading *reading, const char *token, size_t n, uint32_t id) {
    for (int i = 0; i < N_SPECIAL; i++)
        if (strlen(specials[i]) == n && memcmp(specials[i], token, n) == 0)
            reading->ids[i] = id;
}

/* "token":id,... */
static int put_tokens(struct reading *reading, struct leat_error *err) {
    const struct leat_files_input *vocab = reading->vocab;
    struct leat_files_lines lines = {.at = vocab->text, .end = vocab->text + vocab->n};
    const char *line;
    size_t n;

    while (leat_files_lines_next(&lines, &line, &n)) {
        if (!leat_files_is_utf8(line, n))
            return leat_files_error(vocab, lines.line, err, "bytes that are not UTF-8");
        if (lines.line > LEAT_TOKEN_TABLE_TOKENS_MAX)
            return leat_files_error(vocab, lines.line, err, "more than %u tokens",
                                    LEAT_TOKEN_TABLE_TOKENS_MAX);
        n = trimmed_length(line, n);
        note_special(reading, line, n, lines.line - 1);
        leat_files_text_puts(reading->json, lines.line > 1 ? ",\n" : "\n");
        leat_files_text_put_string(reading->json, line, n);
        leat_files_text_puts(reading->json, ":");
        leat_files_text_put_uint(reading->json, lines.line - 1);
    }
    return 0;
}

void leat_files_put_special(struct leat_files_text *json, const char *token, uint32_t id) {
    leat_files_text_puts(json, "{\"id\":");
    leat_files_text_put_uint(json, id);
    leat_files_text_puts(json, ",\"content\":");
    leat_files_text_put_string(json, token, strlen(token));
    leat_files_text_puts(json, ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
                               "\"normalized\":false,\"special\":true}");
}

static void put_specials(const struct reading *reading) {
    const char *comma = "";

    leat_files_text_puts(reading->json, ",\"added_tokens\":[");
    for (int i = 0; i < N_SPECIAL; i++) {
        if (reading->ids[i] < 0)
            continue;
        leat_files_text_puts(reading->json, comma);
        leat_files_put_special(reading->json, specials[i], (uint32_t)reading->ids[i]);
        comma = ",";
    }
    leat_files_text_puts(reading->json, "]");
}

static void put_normalizer(struct leat_files_text *json, const struct leat_files_config *config) {
    leat_files_text_puts(json, ",\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
                               "\"handle_chinese_chars\":");
    leat_files_text_put_bool(json, config->spaces_chinese);
    leat_files_text_puts(json, ",\"strip_accents\":");
    if (config->strip_accents < 0)
        leat_files_text_puts(json, "null");
    else
        leat_files_text_put_bool(json, config->strip_accents);
    leat_files_text_puts(json, ",\"lowercase\":");
    leat_files_text_put_bool(json, config->lowercase);
    leat_files_text_puts(json, "},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}");
}

static int put_post_processor(const struct reading *reading, struct leat_error *err) {
    struct leat_files_text *json = reading->json;

    for (int i = UNK; i <= CLS; i++)
        if (reading->ids[i] < 0)
            return leat_files_error(reading->vocab, 0, err,
                                    "has no token %s, as the vocabulary of a BERT must",
                                    specials[i]);
    leat_files_text_puts(json,
                         ",\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",");
    leat_files_text_put_uint(json, (uint64_t)reading->ids[SEP]);
    leat_files_text_puts(json, "],\"cls\":[\"[CLS]\",");
    leat_files_text_put_uint(json, (uint64_t)reading->ids[CLS]);
    leat_files_text_puts(json, "]},\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\","
                               "\"cleanup\":true}}");
    return 0;
}

int leat_files_vocab_txt(const struct leat_files_input *vocab,
                         const struct leat_files_config *config, struct leat_files_text *json,
                         struct leat_error *err) {
    struct reading reading = {.vocab = vocab, .json = json, .ids = {-1, -1, -1, -1, -1}};
    int r;

    leat_files_text_puts(json,
                         "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"model\":"
                         "{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
                         "\"continuing_subword_prefix\":\"##\","
                         "\"max_input_chars_per_word\":100,\"vocab\":{");
    r = put_tokens(&reading, err);
    leat_files_text_puts(json, "}}");
    put_specials(&reading);
    put_normalizer(json, config);
    return r < 0 ? r : put_post_processor(&reading, err);
}
