/* vocab.c: reads files of lines, {token: id}, tokenizer.json and files of costs, and decides
 * between tokens that share bytes or an id. See vocab.h. */
#include "pipeline/tokenizer/chartrie/vocab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/token_encoding.h"
#include "proto/base/array.h"

#define NUMBER_BYTES_MAX 64

/* Collects tokens while a file is read. */
struct builder {
    struct leat_vocab *vocab;
    enum leat_token_encoding encoding;
    const char *file;
    bool is_json;
    size_t token_capacity;
    size_t byte_capacity; /* allocated at once: decoding makes nothing longer than the file */
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_json(const char *data, size_t n_bytes, const char *file) {
    size_t n_file = file ? strlen(file) : 0, first = 0, last = n_bytes;

    while (first < n_bytes && is_blank(data[first]))
        first++;
    if (first == n_bytes || data[first] != '{')
        return false;
    while (is_blank(data[last - 1]))
        last--;
    return data[last - 1] == '}' || (n_file >= 5 && strcmp(file + n_file - 5, ".json") == 0);
}

static int check_token(const struct builder *builder, size_t n_bytes, int64_t id,
                       struct leat_error *err) {
    if (n_bytes == 0)
        return leat_error_set(err, -EINVAL, "the token with id %lld is empty", (long long)id);
    if (n_bytes > LEAT_VOCAB_TOKEN_BYTES_MAX)
        return leat_error_set(err, -E2BIG, "the token has %zu bytes; at most %u are possible",
                              n_bytes, LEAT_VOCAB_TOKEN_BYTES_MAX);
    if (id < 0 || id > INT32_MAX)
        return leat_error_set(err, -ERANGE, "the id %lld is outside 0..%d", (long long)id,
                              INT32_MAX);
    if (builder->vocab->n_tokens == LEAT_VOCAB_TOKENS_MAX)
        return leat_error_set(err, -E2BIG, "there are more than %u tokens", LEAT_VOCAB_TOKENS_MAX);
    if (builder->vocab->n_bytes + n_bytes > builder->byte_capacity)
        return leat_error_set(err, -E2BIG, "all tokens together have more than %u bytes",
                              LEAT_VOCAB_BYTES_MAX);
    return 0;
}

static int add_token(struct builder *builder, const char *token, size_t n_bytes, int64_t id,
                     enum leat_vocab_rank rank, double cost, uint32_t line,
                     struct leat_error *err) {
    struct leat_vocab *vocab = builder->vocab;
    enum leat_token_encoding encoding =
        rank == LEAT_VOCAB_ADDED ? LEAT_TOKEN_ENCODING_RAW : builder->encoding;
    uint8_t *bytes = vocab->bytes + vocab->n_bytes;
    bool is_byte;
    int r;

    r = check_token(builder, n_bytes, id, err);
    if (r < 0) {
        leat_error_locate(err, builder->file, line, 0);
        return r;
    }
    if (!leat_array_reserve(&vocab->tokens, vocab->n_tokens + 1, &builder->token_capacity))
        return leat_error_oom(err);
    n_bytes = leat_token_decode(encoding, (const uint8_t *)token, n_bytes, bytes, &is_byte);
    vocab->tokens[vocab->n_tokens++] =
        (struct leat_vocab_token){.bytes = bytes,
                                  .n_bytes = (uint32_t)n_bytes,
                                  .id = (int32_t)id,
                                  .cost = cost,
                                  .rank = is_byte ? LEAT_VOCAB_BYTE : rank};
    vocab->n_bytes += n_bytes;
    return 0;
}

static int read_lines(struct builder *builder, const char *data, size_t n_bytes,
                      struct leat_error *err) {
    size_t n_crlf = 0;
    uint32_t line = 0;
    int r = 0;

    for (size_t i = 0; i < n_bytes && r == 0;) {
        const char *end = memchr(data + i, '\n', n_bytes - i);
        size_t n = end ? (size_t)(end - (data + i)) : n_bytes - i;

        n_crlf += end && n > 0 && end[-1] == '\r';
        r = add_token(builder, data + i, n, line, LEAT_VOCAB_MODEL, 1.0, line + 1, err);
        line++;
        i += n + 1;
    }
    if (r == 0 && n_crlf > 1 && n_crlf == line) {
        r = leat_error_set(
            err, -EINVAL,
            "every line ends in CR LF, so every token would end in CR: end the lines in LF only");
        leat_error_locate(err, builder->file, 1, 0);
    }
    return r;
}

/* ---- JSON */

static bool find(struct leat_json_node object, const char *key, struct leat_json_node *ret_value) {
    return leat_json_find(object, key, strlen(key), ret_value);
}

static int wrong_kind(struct leat_error *err, const char *path, struct leat_json_node node,
                      const char *expected) {
    int r = leat_error_set(err, -EINVAL, "is %s, but must be %s",
                           leat_json_kind_name(leat_json_kind(node)), expected);

    leat_error_prefix(err, "%s", path);
    return r;
}

static int read_members(struct builder *builder, struct leat_json_node object, const char *path,
                        struct leat_error *err) {
    struct leat_json_iterator it;
    struct leat_json_node value;
    const char *key;
    size_t n_key;
    int r = 0;

    leat_json_iterate(object, &it);
    while (r == 0 && leat_json_next_member(&it, &key, &n_key, &value)) {
        char shown[LEAT_TOKEN_TEXT_MAX];

        if (leat_json_kind(value) != LEAT_JSON_INT) {
            r = leat_error_set(err, -EINVAL, "the id of token \"%s\" is %s, but must be an integer",
                               leat_token_text((const uint8_t *)key, n_key, shown),
                               leat_json_kind_name(leat_json_kind(value)));
            leat_error_prefix(err, "%s", path);
            return r;
        }
        r = add_token(builder, key, n_key, leat_json_int(value), LEAT_VOCAB_MODEL, 1.0, 0, err);
    }
    return r;
}

/* [[piece, log probability]...] */
static int read_pieces(struct builder *builder, struct leat_json_node array,
                       struct leat_error *err) {
    struct leat_json_iterator it, pair;
    struct leat_json_node item, piece, score;
    int64_t id = 0;
    int r = 0;

    leat_json_iterate(array, &it);
    for (; r == 0 && leat_json_next(&it, &item); id++) {
        const char *text;
        size_t n;

        if (leat_json_kind(item) != LEAT_JSON_ARRAY || leat_json_n_items(item) != 2)
            return wrong_kind(err, "model.vocab", item, "[piece, score]");
        leat_json_iterate(item, &pair);
        (void)leat_json_next(&pair, &piece);
        (void)leat_json_next(&pair, &score);
        if (leat_json_kind(piece) != LEAT_JSON_STRING)
            return wrong_kind(err, "model.vocab", piece, "a string (the piece)");
        if (leat_json_kind(score) < LEAT_JSON_INT || leat_json_kind(score) > LEAT_JSON_DOUBLE)
            return wrong_kind(err, "model.vocab", score, "a number (the score)");
        text = leat_json_string(piece, &n);
        r = add_token(builder, text, n, id, LEAT_VOCAB_MODEL, -leat_json_double(score), 0, err);
    }
    builder->vocab->has_costs = true;
    return r;
}

const char *const leat_vocab_pads[] = {"[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>", NULL};

static bool is_pad(const char *text, size_t n) {
    for (const char *const *name = leat_vocab_pads; *name; name++)
        if (strlen(*name) == n && memcmp(*name, text, n) == 0)
            return true;
    return false;
}

/* An added token costs nothing where the model has a cost for each of its own, as the control
 * symbols of sentencepiece do; one that repeats a token of the model keeps that one's cost. */
static int read_added(struct builder *builder, struct leat_json_node array,
                      struct leat_error *err) {
    double cost = builder->vocab->has_costs ? 0.0 : 1.0;
    struct leat_json_node item, id, content;
    struct leat_json_iterator it;
    int r = 0;

    leat_json_iterate(array, &it);
    while (r == 0 && leat_json_next(&it, &item)) {
        const char *text;
        size_t n;

        if (!find(item, "id", &id) || leat_json_kind(id) != LEAT_JSON_INT)
            return wrong_kind(err, "added_tokens", item, "an object with an integer `id`");
        if (!find(item, "content", &content) || leat_json_kind(content) != LEAT_JSON_STRING)
            return wrong_kind(err, "added_tokens", item, "an object with a string `content`");
        text = leat_json_string(content, &n);
        r = add_token(builder, text, n, leat_json_int(id), LEAT_VOCAB_ADDED, cost, 0, err);
        if (is_pad(text, n) && builder->vocab->pad_id < 0)
            builder->vocab->pad_id = leat_json_int(id);
    }
    return r;
}

static int read_model_vocab(struct builder *builder, struct leat_json_node model,
                            struct leat_error *err) {
    struct leat_json_node vocab;

    if (!find(model, "vocab", &vocab))
        return leat_error_set(err, -EINVAL, "`model` has no `vocab`");
    if (leat_json_kind(vocab) == LEAT_JSON_OBJECT)
        return read_members(builder, vocab, "model.vocab", err);
    if (leat_json_kind(vocab) == LEAT_JSON_ARRAY)
        return read_pieces(builder, vocab, err);
    return wrong_kind(err, "model.vocab", vocab, "an object or an array");
}

/* Unigram says it by number, the others by name. */
static void read_unk(struct leat_vocab *vocab, struct leat_json_node model) {
    struct leat_json_node value, entries, id;
    const char *text;
    size_t n;

    if (find(model, "unk_id", &value) && leat_json_kind(value) == LEAT_JSON_INT) {
        vocab->unk_id = leat_json_int(value);
        return;
    }
    if (!find(model, "unk_token", &value) || leat_json_kind(value) != LEAT_JSON_STRING)
        return;
    text = leat_json_string(value, &n);
    if (find(model, "vocab", &entries) && leat_json_find(entries, text, n, &id) &&
        leat_json_kind(id) == LEAT_JSON_INT)
        vocab->unk_id = leat_json_int(id);
}

static void read_pad(struct leat_vocab *vocab, struct leat_json_node root) {
    struct leat_json_node padding, id;

    if (find(root, "padding", &padding) && find(padding, "pad_id", &id) &&
        leat_json_kind(id) == LEAT_JSON_INT && leat_json_int(id) >= 0)
        vocab->pad_id = leat_json_int(id);
}

static int read_tokenizer(struct builder *builder, struct leat_json_node root,
                          struct leat_json_node model, struct leat_error *err) {
    struct leat_json_node added;
    int r;

    r = read_model_vocab(builder, model, err);
    if (r < 0)
        return r;
    if (find(root, "added_tokens", &added) && leat_json_kind(added) != LEAT_JSON_NULL) {
        if (leat_json_kind(added) != LEAT_JSON_ARRAY)
            return wrong_kind(err, "added_tokens", added, "an array");
        r = read_added(builder, added, err);
    }
    read_unk(builder->vocab, model);
    read_pad(builder->vocab, root);
    return r;
}

static int read_root(struct builder *builder, struct leat_json_node root, struct leat_error *err) {
    struct leat_json_node model;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "is %s, but must be an object",
                              leat_json_kind_name(leat_json_kind(root)));
    if (find(root, "model", &model) && leat_json_kind(model) == LEAT_JSON_OBJECT)
        return read_tokenizer(builder, root, model, err);
    return read_members(builder, root, "", err);
}

static int read_json(struct builder *builder, const char *data, size_t n_bytes,
                     struct leat_error *err) {
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    r = leat_json_new(n_bytes, &json);
    if (r < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, data, n_bytes, n_bytes, &root, err);
    if (r == 0)
        r = read_root(builder, root, err);
    leat_json_free(json);
    return r;
}

/* ---- duplicates */

/* By id; of equal ids the token that stays comes first. */
static int compare_ids(const void *a, const void *b) {
    const struct leat_vocab_token *x = a, *y = b;

    if (x->id != y->id)
        return (x->id > y->id) - (x->id < y->id);
    return (int)y->rank - (int)x->rank;
}

/* By bytes; of equal bytes the token that stays comes first, then by id. */
static int compare_bytes(const void *a, const void *b) {
    const struct leat_vocab_token *x = *(struct leat_vocab_token *const *)a;
    const struct leat_vocab_token *y = *(struct leat_vocab_token *const *)b;
    uint32_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
    int r = memcmp(x->bytes, y->bytes, n);

    if (r || x->n_bytes != y->n_bytes)
        return r ? r : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
    if (x->rank != y->rank)
        return (int)y->rank - (int)x->rank;
    return (x->id > y->id) - (x->id < y->id);
}

static bool same_bytes(const struct leat_vocab_token *a, const struct leat_vocab_token *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0;
}

/* An added token repeats the model's of its id, perhaps in another encoding, so it takes its place;
 * two tokens of one rank on one id are a mistake, unless they are the same. */
static int resolve_ids(const struct leat_vocab *vocab, struct leat_error *err) {
    struct leat_vocab_token *tokens = vocab->tokens, *kept = &tokens[0];
    char a[LEAT_TOKEN_TEXT_MAX], b[LEAT_TOKEN_TEXT_MAX];

    for (size_t i = 1; i < vocab->n_tokens; i++) {
        struct leat_vocab_token *token = &tokens[i];

        if (token->id != kept->id) {
            kept = token;
            continue;
        }
        if (token->rank == kept->rank && !same_bytes(token, kept))
            return leat_error_set(err, -EINVAL, "two tokens have the id %d: \"%s\" and \"%s\"",
                                  token->id, leat_token_text(kept->bytes, kept->n_bytes, a),
                                  leat_token_text(token->bytes, token->n_bytes, b));
        if (kept->rank == LEAT_VOCAB_ADDED && token->rank != LEAT_VOCAB_ADDED)
            kept->cost = token->cost;
        token->is_hidden = true;
    }
    return 0;
}

static int report_duplicate(const struct builder *builder, const struct leat_vocab_token *a,
                            const struct leat_vocab_token *b, struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];

    leat_token_text(a->bytes, a->n_bytes, shown);
    if (builder->is_json)
        return leat_error_set(err, -EINVAL, "the ids %d and %d have the same token, \"%s\"", a->id,
                              b->id, shown);
    leat_error_set(err, -EINVAL, "the lines %d and %d have the same token, \"%s\"", a->id + 1,
                   b->id + 1, shown);
    leat_error_locate(err, builder->file, (uint32_t)b->id + 1, 0);
    return -EINVAL;
}

static int resolve_bytes(const struct builder *builder, struct leat_vocab_token **order, size_t n,
                         struct leat_error *err) {
    const struct leat_vocab_token *kept = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!kept || !same_bytes(kept, order[i]))
            kept = order[i];
        else if (order[i]->rank == kept->rank)
            return report_duplicate(builder, kept, order[i], err);
        else
            order[i]->is_hidden = true;
    }
    return 0;
}

/* Sorts the tokens by id. Within each group of equals the token of the highest rank stays; two of
 * that rank are an error. */
static int resolve(const struct builder *builder, struct leat_error *err) {
    struct leat_vocab *vocab = builder->vocab;
    struct leat_vocab_token **order;
    size_t n = 0;
    int r;

    qsort(vocab->tokens, vocab->n_tokens, sizeof(*vocab->tokens), compare_ids);
    r = resolve_ids(vocab, err);
    if (r < 0)
        return r;
    order = malloc(vocab->n_tokens * sizeof(struct leat_vocab_token *));
    if (!order)
        return leat_error_oom(err);
    for (size_t i = 0; i < vocab->n_tokens; i++)
        if (!vocab->tokens[i].is_hidden)
            order[n++] = &vocab->tokens[i];
    qsort(order, n, sizeof(struct leat_vocab_token *), compare_bytes);
    r = resolve_bytes(builder, order, n, err);
    free(order);
    return r;
}

/* ---- reading a file */

static int read_file(struct builder *builder, const char *data, size_t n_bytes,
                     struct leat_error *err) {
    struct leat_vocab *vocab = builder->vocab;
    int r;

    if (n_bytes > LEAT_VOCAB_FILE_BYTES_MAX)
        return leat_error_set(err, -E2BIG, "the vocabulary has %zu bytes; at most %u are possible",
                              n_bytes, LEAT_VOCAB_FILE_BYTES_MAX);
    builder->byte_capacity = n_bytes < LEAT_VOCAB_BYTES_MAX ? n_bytes : LEAT_VOCAB_BYTES_MAX;
    vocab->bytes = malloc(builder->byte_capacity ? builder->byte_capacity : 1);
    if (!vocab->bytes)
        return leat_error_oom(err);
    builder->is_json = is_json(data, n_bytes, builder->file);
    r = builder->is_json ? read_json(builder, data, n_bytes, err)
                         : read_lines(builder, data, n_bytes, err);
    if (r < 0)
        return r;
    if (vocab->n_tokens == 0)
        return leat_error_set(err, -EINVAL, "the vocabulary has no tokens");
    return resolve(builder, err);
}

int leat_vocab_new(const char *data, size_t n_bytes, enum leat_token_encoding encoding,
                   const char *file, struct leat_vocab **ret_vocab, struct leat_error *err) {
    struct builder builder = {.encoding = encoding, .file = file};
    int r;

    builder.vocab = calloc(1, sizeof(*builder.vocab));
    if (!builder.vocab)
        return leat_error_oom(err);
    builder.vocab->unk_id = builder.vocab->pad_id = -1;
    r = read_file(&builder, data, n_bytes, err);
    if (r < 0) {
        leat_error_locate(err, file, 0, 0);
        leat_vocab_free(builder.vocab);
        return r;
    }
    *ret_vocab = builder.vocab;
    return 0;
}

struct leat_vocab *leat_vocab_free(struct leat_vocab *vocab) {
    if (!vocab)
        return NULL;
    free(vocab->tokens);
    free(vocab->bytes);
    free(vocab);
    return NULL;
}

/* One number, with blanks around it allowed. */
static int parse_number(const char *line, size_t n, double *ret_value) {
    char text[NUMBER_BYTES_MAX], *end;

    while (n > 0 && is_blank(line[n - 1]))
        n--;
    if (n == 0 || n >= sizeof(text) || memchr(line, '\0', n))
        return -EINVAL;
    memcpy(text, line, n);
    text[n] = '\0';
    *ret_value = strtod(text, &end);
    return end == text + n && isfinite(*ret_value) ? 0 : -EINVAL;
}

static int read_costs(double *costs, size_t n_costs, const char *data, size_t n_bytes,
                      uint32_t *ret_line, struct leat_error *err) {
    size_t i = 0;

    for (*ret_line = 0; i < n_bytes;) {
        const char *end = memchr(data + i, '\n', n_bytes - i);
        size_t n = end ? (size_t)(end - (data + i)) : n_bytes - i;
        char shown[LEAT_TOKEN_TEXT_MAX];

        if (*ret_line == n_costs)
            return leat_error_set(
                err, -EINVAL, "there are more costs than ids: the highest id is %zu", n_costs - 1);
        if (parse_number(data + i, n, &costs[(*ret_line)++]) < 0)
            return leat_error_set(err, -EINVAL, "\"%s\" is not a finite number",
                                  leat_token_text((const uint8_t *)data + i, n, shown));
        i += n + 1;
    }
    if (*ret_line < n_costs)
        return leat_error_set(
            err, -EINVAL,
            "there are %u costs, but the highest id is %zu: give %zu costs, one per line",
            *ret_line, n_costs - 1, n_costs);
    return 0;
}

int leat_vocab_read_costs(struct leat_vocab *vocab, const char *data, size_t n_bytes,
                          const char *file, struct leat_error *err) {
    size_t n_costs = (size_t)vocab->tokens[vocab->n_tokens - 1].id + 1;
    uint32_t line = 0;
    double *costs;
    int r;

    if (n_costs > LEAT_VOCAB_TOKENS_MAX)
        return leat_error_set(
            err, -E2BIG, "the highest id is %zu, so the file of costs may have at most %u lines",
            n_costs - 1, LEAT_VOCAB_TOKENS_MAX);
    costs = calloc(n_costs, sizeof(*costs));
    if (!costs)
        return leat_error_oom(err);
    r = read_costs(costs, n_costs, data, n_bytes, &line, err);
    if (r < 0)
        leat_error_locate(err, file, line ? line : 1, 0);
    for (size_t i = 0; r == 0 && i < vocab->n_tokens; i++)
        vocab->tokens[i].cost = costs[vocab->tokens[i].id];
    vocab->has_costs |= r == 0;
    free(costs);
    return r;
}
