/* vocab.c: files of lines, files of costs, and what all kinds of vocabulary share. See vocab.h. */
#include "pipeline/tokenizer/vocab.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/token_text.h"
#include "pipeline/tokenizer/vocab_builder.h"
#include "pipeline/tokenizer/vocab_resolve.h"

#define NUMBER_BYTES_MAX 64

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

static int grow_tokens(struct leat_vocab_builder *builder) {
    size_t capacity = builder->token_capacity ? builder->token_capacity * 2 : 4096;
    void *tokens = reallocarray(builder->vocab->tokens, capacity, sizeof(struct leat_vocab_token));

    if (!tokens)
        return -ENOMEM;
    builder->vocab->tokens = tokens;
    builder->token_capacity = capacity;
    return 0;
}

static int check_token(const struct leat_vocab_builder *builder, size_t n_bytes, int64_t id,
                       struct leat_error *err) {
    if (n_bytes == 0)
        return leat_error_set(err, -EINVAL, "the token is empty (id %lld)", (long long)id);
    if (n_bytes > LEAT_VOCAB_TOKEN_BYTES_MAX)
        return leat_error_set(err, -E2BIG, "the token has %zu bytes: the longest may have %u",
                              n_bytes, LEAT_VOCAB_TOKEN_BYTES_MAX);
    if (id < 0 || id > INT32_MAX)
        return leat_error_set(err, -ERANGE, "the id %lld is outside 0..%d", (long long)id,
                              INT32_MAX);
    if (builder->vocab->n_tokens == LEAT_VOCAB_TOKENS_MAX)
        return leat_error_set(err, -E2BIG, "more than %u tokens", LEAT_VOCAB_TOKENS_MAX);
    if (builder->vocab->n_bytes + n_bytes > builder->byte_capacity)
        return leat_error_set(err, -E2BIG, "all tokens together have more than %u bytes",
                              LEAT_VOCAB_BYTES_MAX);
    return 0;
}

int leat_vocab_builder_add(struct leat_vocab_builder *builder, const char *token, size_t n_bytes,
                           int64_t id, enum leat_vocab_rank rank, double cost, uint32_t line,
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
    if (vocab->n_tokens == builder->token_capacity && grow_tokens(builder) < 0)
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

static int read_lines(struct leat_vocab_builder *builder, const char *data, size_t n_bytes,
                      struct leat_error *err) {
    size_t n_crlf = 0;
    uint32_t line = 0;
    int r = 0;

    for (size_t i = 0; i < n_bytes && r == 0;) {
        const char *end = memchr(data + i, '\n', n_bytes - i);
        size_t n = end ? (size_t)(end - (data + i)) : n_bytes - i;

        n_crlf += end && n > 0 && end[-1] == '\r';
        r = leat_vocab_builder_add(builder, data + i, n, line, LEAT_VOCAB_MODEL, 1.0, line + 1,
                                   err);
        line++;
        i += n + 1;
    }
    if (r == 0 && n_crlf > 1 && n_crlf == line) {
        r = leat_error_set(err, -EINVAL,
                           "every line ends in CR LF, so every token would end in CR: lines of a "
                           "vocabulary end in LF alone");
        leat_error_locate(err, builder->file, 1, 0);
    }
    return r;
}

static int read_file(struct leat_vocab_builder *builder, const char *data, size_t n_bytes,
                     struct leat_error *err) {
    struct leat_vocab *vocab = builder->vocab;
    int r;

    if (n_bytes > LEAT_VOCAB_FILE_BYTES_MAX)
        return leat_error_set(err, -E2BIG, "the vocabulary has %zu bytes: at most %u", n_bytes,
                              LEAT_VOCAB_FILE_BYTES_MAX);
    builder->byte_capacity = n_bytes < LEAT_VOCAB_BYTES_MAX ? n_bytes : LEAT_VOCAB_BYTES_MAX;
    vocab->bytes = malloc(builder->byte_capacity ? builder->byte_capacity : 1);
    if (!vocab->bytes)
        return leat_error_oom(err);
    vocab->is_json = is_json(data, n_bytes, builder->file);
    r = vocab->is_json ? leat_vocab_builder_read_json(builder, data, n_bytes, err)
                       : read_lines(builder, data, n_bytes, err);
    if (r < 0)
        return r;
    if (vocab->n_tokens == 0)
        return leat_error_set(err, -EINVAL, "the vocabulary has no tokens");
    return leat_vocab_resolve(vocab, !vocab->is_json, builder->file, err);
}

int leat_vocab_new(const char *data, size_t n_bytes, enum leat_token_encoding encoding,
                   const char *file, struct leat_vocab **ret_vocab, struct leat_error *err) {
    struct leat_vocab_builder builder = {.encoding = encoding, .file = file};
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
            return leat_error_set(err, -EINVAL, "more costs than ids: the highest id is %zu",
                                  n_costs - 1);
        if (parse_number(data + i, n, &costs[(*ret_line)++]) < 0)
            return leat_error_set(err, -EINVAL, "\"%s\" is no finite number",
                                  leat_token_text((const uint8_t *)data + i, n, shown));
        i += n + 1;
    }
    if (*ret_line < n_costs)
        return leat_error_set(err, -EINVAL,
                              "%u costs, but the highest id is %zu: there must be %zu, one a line",
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
        return leat_error_set(err, -E2BIG,
                              "the highest id is %zu: a file of costs can have %u lines",
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

const struct leat_vocab_token *leat_vocab_find(const struct leat_vocab *vocab, int64_t id) {
    size_t first = 0, end = vocab->n_tokens;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (vocab->tokens[middle].id < id)
            first = middle + 1;
        else
            end = middle;
    }
    return first < vocab->n_tokens && vocab->tokens[first].id == id ? &vocab->tokens[first] : NULL;
}
