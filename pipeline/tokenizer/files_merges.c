/* files_merges.c: vocab.json and merges.txt of a GPT-2 to a tokenizer.json. See files_vocab.h.
 *
 * What the model would refuse is refused here, where the user's own lines are known.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/files_vocab.h"
#include "pipeline/tokenizer/json_path.h"
#include "pipeline/tokenizer/token_table.h"

#define END_OF_TEXT "<|endoftext|>"

struct reading {
    const struct leat_files_input *vocab, *merges;
    struct leat_files_text *json;
    struct leat_token_table tokens;
};

static int bad_id(const struct reading *reading, const char *key, size_t n_key,
                  struct leat_error *err) {
    const struct leat_json_step step = {.key = key, .n_key = n_key};
    uint32_t line = 0, column = 0;

    (void)leat_json_locate_value((const uint8_t *)reading->vocab->text, reading->vocab->n, &step, 1,
                                 &line, &column);
    leat_error_set(err, -EINVAL, "the id of \"%.*s\" must be an integer in 0..%u",
                   (int)(n_key < 64 ? n_key : 64), key, LEAT_TOKEN_TABLE_ID_MAX);
    leat_error_locate(err, reading->vocab->file, line, column);
    return -EINVAL;
}

static int read_members(struct reading *reading, struct leat_json_node root,
                        struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node value;
    const char *key;
    size_t n_key;
    int r = 0;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT)
        return leat_files_error(reading->vocab, 1, err, "must be an object of tokens and ids");
    leat_json_iterate(root, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &value)) {
        int64_t id = leat_json_kind(value) == LEAT_JSON_INT ? leat_json_int(value) : -1;
        if (id < 0 || id > LEAT_TOKEN_TABLE_ID_MAX)
            return bad_id(reading, key, n_key, err);
        r = leat_token_table_add(&reading->tokens, key, n_key, (uint32_t)id, err);
    }
    if (r < 0)
        leat_error_locate(err, reading->vocab->file, 0, 0);
    return r;
}

static int read_vocab(struct reading *reading, struct leat_error *err) {
    const struct leat_files_input *vocab = reading->vocab;
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    if (leat_json_new(vocab->n, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, vocab->text, vocab->n, vocab->n, &root, err);
    if (r < 0)
        leat_error_locate(err, vocab->file, 0, 0);
    else
        r = read_members(reading, root, err);
    leat_json_free(json);
    return r;
}

/* A line is two tokens and a blank between them; all that it names must be in the vocabulary. */
static int check_merge(const struct reading *reading, const char *line, size_t n, size_t n_left,
                       uint32_t number, struct leat_error *err) {
    char whole[512];
    size_t n_right = n - n_left - 1;
    const struct {
        const char *text;
        size_t n;
    } parts[] = {{line, n_left}, {line + n_left + 1, n_right}, {whole, n_left + n_right}};

    if (n_left + n_right > sizeof(whole))
        return leat_files_error(reading->merges, number, err, "a token of more than %zu bytes",
                                sizeof(whole));
    memcpy(whole, line, n_left);
    memcpy(whole + n_left, line + n_left + 1, n_right);
    for (size_t i = 0; i < 3; i++)
        if (leat_token_table_find(&reading->tokens, parts[i].text, parts[i].n) < 0)
            return leat_files_error(reading->merges, number, err, "\"%.*s\" is not in %s",
                                    (int)(parts[i].n < 64 ? parts[i].n : 64), parts[i].text,
                                    reading->vocab->file);
    return 0;
}

static int put_merge(const struct reading *reading, const char *line, size_t n, uint32_t number,
                     struct leat_error *err) {
    const char *blank = memchr(line, ' ', n);
    size_t n_left = blank ? (size_t)(blank - line) : n;
    int r;

    if (!leat_files_is_utf8(line, n))
        return leat_files_error(reading->merges, number, err, "bytes that are not UTF-8");
    if (!blank || memchr(blank + 1, ' ', n - n_left - 1))
        return leat_files_error(reading->merges, number, err,
                                "\"%.*s\" must be two tokens with one blank between them",
                                (int)(n < 64 ? n : 64), line);
    r = check_merge(reading, line, n, n_left, number, err);
    leat_files_text_puts(reading->json, "[");
    leat_files_text_put_string(reading->json, line, n_left);
    leat_files_text_puts(reading->json, ",");
    leat_files_text_put_string(reading->json, blank + 1, n - n_left - 1);
    leat_files_text_puts(reading->json, "]");
    return r;
}

static int put_merges(const struct reading *reading, struct leat_error *err) {
    const struct leat_files_input *merges = reading->merges;
    struct leat_files_lines lines = {.at = merges->text, .end = merges->text + merges->n};
    const char *line, *comma = "\n";
    size_t n;
    int r = 0;

    while (r == 0 && leat_files_lines_next(&lines, &line, &n)) {
        if (n >= 8 && memcmp(line, "#version", 8) == 0)
            continue;
        leat_files_text_puts(reading->json, comma);
        comma = ",\n";
        r = put_merge(reading, line, n, lines.line, err);
    }
    return r;
}

static void put_frame(const struct reading *reading, const struct leat_files_config *config) {
    int32_t end = leat_token_table_find(&reading->tokens, END_OF_TEXT, strlen(END_OF_TEXT));

    leat_files_text_puts(reading->json, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,"
                                        "\"added_tokens\":[");
    if (end >= 0)
        leat_files_put_special(reading->json, END_OF_TEXT, (uint32_t)end);
    leat_files_text_puts(reading->json, "],\"normalizer\":null,\"pre_tokenizer\":{\"type\":"
                                        "\"ByteLevel\",\"trim_offsets\":true,\"use_regex\":true,"
                                        "\"add_prefix_space\":");
    leat_files_text_put_bool(reading->json, config->adds_prefix_space);
    leat_files_text_puts(reading->json, "},\"post_processor\":{\"type\":\"ByteLevel\","
                                        "\"add_prefix_space\":true,\"trim_offsets\":false,"
                                        "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\","
                                        "\"add_prefix_space\":true,\"trim_offsets\":true,"
                                        "\"use_regex\":true},\"model\":{\"type\":\"BPE\","
                                        "\"dropout\":null,\"unk_token\":null,"
                                        "\"continuing_subword_prefix\":\"\","
                                        "\"end_of_word_suffix\":\"\",\"fuse_unk\":false,"
                                        "\"byte_fallback\":false,\"ignore_merges\":false,"
                                        "\"vocab\":\n");
}

int leat_files_vocab_merges(const struct leat_files_input *vocab,
                            const struct leat_files_input *merges,
                            const struct leat_files_config *config, struct leat_files_text *json,
                            struct leat_error *err) {
    struct reading reading = {.vocab = vocab, .merges = merges, .json = json};
    int r = read_vocab(&reading, err);

    if (r == 0) {
        put_frame(&reading, config);
        leat_files_text_put(json, vocab->text, vocab->n);
        leat_files_text_puts(json, ",\"merges\":[");
        r = put_merges(&reading, err);
        leat_files_text_puts(json, "]}}");
    }
    leat_token_table_deinit(&reading.tokens);
    return r;
}
