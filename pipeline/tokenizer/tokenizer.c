/* tokenizer.c: a tokenizer.json to a tokenizer, and what it can tell of itself. See tokenizer.h.
 *
 * The order of loading is that of Hugging Face `tokenizers`: components first, then added tokens,
 * for which both model and normalizer are needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/chartrie/vocab.h"
#include "pipeline/tokenizer/files/files.h"
#include "pipeline/tokenizer/tokenizer_internal.h"
#include "proto/base/clock.h"

struct leat_tokenizer *leat_tokenizer_free(struct leat_tokenizer *tokenizer) {
    if (!tokenizer)
        return NULL;
    leat_added_tokens_deinit(&tokenizer->added);
    leat_decoder_free(tokenizer->decoder);
    leat_post_free(tokenizer->post);
    leat_model_free(tokenizer->model);
    leat_splitter_free(tokenizer->splitter);
    leat_normalizer_free(tokenizer->normalizer);
    free(tokenizer);
    return NULL;
}

static int load_model(struct leat_tokenizer *tokenizer, const struct leat_component *root,
                      struct leat_error *err) {
    const struct leat_model_ops *ops;
    struct leat_component model;
    int r = leat_component_child(root, "model", LEAT_JSON_OBJECT, &model, err);

    if (r == 0)
        r = leat_model_find(&model, &ops, err);
    if (r == 0)
        r = leat_model_new(ops, &model, leat_splitter_is_byte_level(tokenizer->splitter),
                           &tokenizer->model, err);
    return r;
}

static int check_version(const struct leat_component *root, struct leat_error *err) {
    struct leat_component child;
    const char *version;
    size_t n;
    int r = leat_component_string(root, "version", "1.0", &version, &n, err);

    if (r < 0)
        return r;
    if ((n != 3 || memcmp(version, "1.0", 3) != 0) && leat_component_get(root, "version", &child))
        return leat_component_error(&child, err, "is \"%.*s\", but must be \"1.0\"",
                                    (int)(n > 32 ? 32 : n), version);
    return 0;
}

/* The child of that key if there is one, else NULL. */
static const struct leat_component *optional(const struct leat_component *root, const char *key,
                                             struct leat_component *child) {
    return leat_component_get(root, key, child) ? child : NULL;
}

static int load_parts(struct leat_tokenizer *tokenizer, const struct leat_component *root,
                      struct leat_error *err) {
    struct leat_component child;
    int r = check_version(root, err);

    if (r == 0)
        r = leat_truncation_read(optional(root, "truncation", &child), &tokenizer->truncation, err);
    if (r == 0)
        r = leat_padding_read(optional(root, "padding", &child), &tokenizer->padding, err);
    if (r == 0)
        r = leat_normalizer_new(optional(root, "normalizer", &child), &tokenizer->normalizer, err);
    if (r == 0)
        r = leat_splitter_new(optional(root, "pre_tokenizer", &child), &tokenizer->splitter, err);
    if (r == 0)
        r = load_model(tokenizer, root, err);
    if (r == 0)
        r = leat_post_new(optional(root, "post_processor", &child), &tokenizer->post, err);
    if (r == 0)
        r = leat_decoder_new(optional(root, "decoder", &child), &tokenizer->decoder, err);
    if (r == 0)
        r = leat_added_tokens_init(&tokenizer->added, optional(root, "added_tokens", &child),
                                   &tokenizer->model->tokens, tokenizer->normalizer, err);
    return r;
}

static int load(struct leat_tokenizer *tokenizer, struct leat_json *json,
                const struct leat_document *document, struct leat_error *err) {
    struct leat_json_node node;
    struct leat_component root;
    int r = leat_json_parse(json, document->data, document->n_bytes, document->n_bytes, &node, err);

    if (r == 0) {
        root = leat_component_root(document, node);
        if (leat_json_kind(node) == LEAT_JSON_OBJECT)
            r = load_parts(tokenizer, &root, err);
        else
            r = leat_component_error(&root, err, "is %s, but must be an object",
                                     leat_json_kind_name(leat_json_kind(node)));
    }
    if (r < 0)
        leat_error_locate(err, document->file, 0, 0);
    return r;
}

/* config_pad: of tokenizer_config.json, or NULL. */
static int32_t find_pad(const struct leat_tokenizer *tokenizer, const char *config_pad) {
    int32_t id = -1;

    if (tokenizer->padding.is_on)
        return tokenizer->padding.pad_id;
    if (config_pad)
        id = leat_tokenizer_id(tokenizer, config_pad, strlen(config_pad));
    for (const char *const *name = leat_vocab_pads; id < 0 && *name; name++) {
        id = leat_tokenizer_id(tokenizer, *name, strlen(*name));
        if (id >= 0 && !leat_tokenizer_is_special(tokenizer, id))
            id = -1;
    }
    return id;
}

int leat_tokenizer_new(const char *data, size_t n_bytes, const char *file,
                       struct leat_tokenizer **ret_tokenizer, struct leat_error *err) {
    struct leat_document document = {.data = data, .n_bytes = n_bytes, .file = file};
    struct leat_tokenizer *tokenizer;
    struct leat_json *json;
    uint64_t start_ns = leat_now_ns();
    int r;

    if (n_bytes > LEAT_TOKENIZER_FILE_BYTES_MAX) {
        r = leat_error_set(err, -E2BIG, "has %zu bytes; at most %u are possible", n_bytes,
                           LEAT_TOKENIZER_FILE_BYTES_MAX);
        leat_error_locate(err, file, 0, 0);
        return r;
    }
    tokenizer = calloc(1, sizeof(*tokenizer));
    if (!tokenizer)
        return leat_error_oom(err);
    r = leat_json_new(n_bytes, &json);
    if (r < 0) {
        leat_tokenizer_free(tokenizer);
        return leat_error_oom(err);
    }
    r = leat_error_agree(err, load(tokenizer, json, &document, err));
    leat_json_free(json);
    if (r < 0) {
        leat_tokenizer_free(tokenizer);
        return r;
    }
    tokenizer->pad_id = find_pad(tokenizer, NULL);
    tokenizer->file_bytes = n_bytes;
    tokenizer->load_seconds = (double)(leat_now_ns() - start_ns) * 1e-9;
    *ret_tokenizer = tokenizer;
    return 0;
}

int leat_tokenizer_open(const char *path, const struct leat_tokenizer_reader *reader,
                        struct leat_tokenizer **ret_tokenizer, struct leat_error *err) {
    struct leat_tokenizer_files files;
    int r = leat_tokenizer_files_read(path, reader, &files, err);

    if (r < 0)
        return r;
    r = leat_tokenizer_new(files.json, files.n, files.file, ret_tokenizer, err);
    if (r == 0)
        (*ret_tokenizer)->pad_id = find_pad(*ret_tokenizer, files.pad_token);
    leat_tokenizer_files_deinit(&files);
    return r;
}

uint32_t leat_tokenizer_n_ids(const struct leat_tokenizer *tokenizer) {
    uint32_t n_model = tokenizer->model->tokens.n_ids, n_added = tokenizer->added.table.n_ids;

    return n_model > n_added ? n_model : n_added;
}

bool leat_tokenizer_is_added(const struct leat_tokenizer *tokenizer, int32_t id) {
    return leat_added_tokens_find(&tokenizer->added, id) != NULL;
}

/* Ids that are both of the model and added count once. */
uint32_t leat_tokenizer_n_tokens(const struct leat_tokenizer *tokenizer, bool with_added) {
    const struct leat_token_table *model = &tokenizer->model->tokens;
    const struct leat_token_table *added = &tokenizer->added.table;
    uint32_t n = model->n_tokens, n_bytes;

    for (uint32_t i = 0; with_added && i < added->n_tokens; i++)
        n += !leat_token_table_text(model, added->texts[i].id, &n_bytes);
    return n;
}

int32_t leat_tokenizer_id(const struct leat_tokenizer *tokenizer, const char *token,
                          size_t n_bytes) {
    int32_t id = leat_token_table_find(&tokenizer->added.table, token, n_bytes);

    return id >= 0 ? id : leat_token_table_find(&tokenizer->model->tokens, token, n_bytes);
}

const uint8_t *leat_tokenizer_token(const struct leat_tokenizer *tokenizer, int32_t id,
                                    uint32_t *ret_n_bytes) {
    const uint8_t *text = leat_added_tokens_spelling(&tokenizer->added, id, ret_n_bytes);

    return text ? text : leat_token_table_text(&tokenizer->model->tokens, id, ret_n_bytes);
}

const uint8_t *leat_tokenizer_entry(const struct leat_tokenizer *tokenizer, int32_t id,
                                    uint32_t *ret_n_bytes) {
    const uint8_t *text = leat_token_table_text(&tokenizer->added.table, id, ret_n_bytes);

    return text ? text : leat_token_table_text(&tokenizer->model->tokens, id, ret_n_bytes);
}

bool leat_tokenizer_added(const struct leat_tokenizer *tokenizer, int32_t id,
                          struct leat_added_token_flags *ret_flags) {
    const struct leat_added_token *token = leat_added_tokens_find(&tokenizer->added, id);

    if (token)
        *ret_flags = (struct leat_added_token_flags){.is_single_word = token->is_single_word,
                                                     .strips_left = token->strips_left,
                                                     .strips_right = token->strips_right,
                                                     .is_normalized = token->is_normalized,
                                                     .is_special = token->is_special};
    return token;
}

bool leat_tokenizer_is_special(const struct leat_tokenizer *tokenizer, int32_t id) {
    return leat_added_tokens_is_special(&tokenizer->added, id);
}

int32_t leat_tokenizer_pad_id(const struct leat_tokenizer *tokenizer) {
    return tokenizer->pad_id;
}

const struct leat_truncation *leat_tokenizer_truncation(const struct leat_tokenizer *tokenizer) {
    return &tokenizer->truncation;
}

const struct leat_padding *leat_tokenizer_padding(const struct leat_tokenizer *tokenizer) {
    return &tokenizer->padding;
}

size_t leat_tokenizer_n_added(const struct leat_tokenizer *tokenizer, bool is_pair) {
    return tokenizer->post->layouts[is_pair][1].n_added;
}

int32_t leat_tokenizer_outer_id(const struct leat_tokenizer *tokenizer, bool is_pair,
                                bool is_last) {
    const struct leat_post_layout *layout = &tokenizer->post->layouts[is_pair][1];
    int32_t id = layout->n_items ? layout->items[is_last ? layout->n_items - 1 : 0].id : -1;

    return id >= 0 ? id : -1;
}

size_t leat_tokenizer_context_max_bytes(const struct leat_tokenizer *tokenizer) {
    (void)tokenizer; /* all models cache words, and nothing else */
    return LEAT_WORD_CACHE_BYTES_MAX;
}

bool leat_tokenizer_has_chance(const struct leat_tokenizer *tokenizer) {
    return tokenizer->model->has_chance;
}

size_t leat_tokenizer_n_bytes(const struct leat_tokenizer *tokenizer) {
    return sizeof(*tokenizer) + leat_normalizer_n_bytes(tokenizer->normalizer) +
           leat_splitter_n_bytes(tokenizer->splitter) +
           leat_token_table_n_bytes(&tokenizer->model->tokens) + tokenizer->model->n_bytes +
           tokenizer->added.n_bytes;
}

static void describe_limits(const struct leat_tokenizer *tokenizer, FILE *out) {
    const struct leat_truncation *truncation = &tokenizer->truncation;
    const struct leat_padding *padding = &tokenizer->padding;

    if (truncation->is_on)
        fprintf(out, "truncation: to %u tokens with stride %u; it cuts the %s\n",
                truncation->max_length, truncation->stride,
                truncation->cuts_left ? "beginning" : "end");
    else
        fprintf(out, "truncation: none\n");
    if (padding->is_on && padding->fixed_length)
        fprintf(out, "padding: to %u tokens with id %d, on the %s\n", padding->fixed_length,
                padding->pad_id, padding->pads_left ? "left" : "right");
    else if (padding->is_on)
        fprintf(out, "padding: to the longest text of a batch with id %d, on the %s\n",
                padding->pad_id, padding->pads_left ? "left" : "right");
    else if (tokenizer->pad_id >= 0)
        fprintf(out, "padding: none; the padding token is %d\n", tokenizer->pad_id);
    else
        fprintf(out, "padding: none\n");
}

char *leat_tokenizer_describe(const struct leat_tokenizer *tokenizer) {
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return NULL;
    fprintf(out, "normalizer: %s\n", leat_normalizer_describe(tokenizer->normalizer));
    fprintf(out, "pre-tokenizer: %s\n", leat_splitter_describe(tokenizer->splitter));
    fprintf(out, "model: %s, %u tokens\n", tokenizer->model->ops->name,
            tokenizer->model->tokens.n_tokens);
    fprintf(out, "algorithm: %s\n", tokenizer->model->algorithm);
    fprintf(out, "added tokens: %u, of which %u are special and %u match after normalization\n",
            tokenizer->added.table.n_tokens, tokenizer->added.n_special,
            tokenizer->added.n_normalized);
    fprintf(out, "post-processor: %s\n", tokenizer->post->description);
    fprintf(out, "decoder: %s\n", leat_decoder_describe(tokenizer->decoder));
    describe_limits(tokenizer, out);
    fprintf(out, "tables: Unicode set u16\n");
    fprintf(out, "memory: %zu bytes (the file has %zu)\n", leat_tokenizer_n_bytes(tokenizer),
            tokenizer->file_bytes);
    fprintf(out, "load time: %.1f ms\n", tokenizer->load_seconds * 1e3);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- decoding ---- */

static int join(const struct leat_tokenizer *tokenizer, const struct leat_decoder_token *tokens,
                size_t n_tokens, char **ret_text, size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_text_buffer text = {0};
    int r = leat_text_buffer_reserve(&text, 1, false);

    if (r == 0)
        r = leat_decoder_run(tokenizer->decoder, tokens, n_tokens, &text, err);
    if (r == -ENOMEM)
        leat_error_oom(err);
    if (r < 0) {
        leat_text_buffer_deinit(&text);
        return r;
    }
    text.bytes[text.n_bytes] = '\0';
    *ret_text = (char *)text.bytes;
    *ret_n_bytes = text.n_bytes;
    return 0;
}

int leat_tokenizer_decode(const struct leat_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                          bool skips_special, char **ret_text, size_t *ret_n_bytes,
                          struct leat_error *err) {
    struct leat_decoder_token *tokens = calloc(n_ids + 1, sizeof(*tokens));
    size_t n = 0;
    int r;

    if (!tokens)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_ids; i++) {
        tokens[n].bytes = leat_tokenizer_token(tokenizer, ids[i], &tokens[n].n_bytes);
        n += tokens[n].bytes && !(skips_special && leat_tokenizer_is_special(tokenizer, ids[i]));
    }
    r = join(tokenizer, tokens, n, ret_text, ret_n_bytes, err);
    free(tokens);
    return r;
}

int leat_tokenizer_join(const struct leat_tokenizer *tokenizer, const char *const *tokens,
                        const uint32_t *n_bytes, size_t n_tokens, char **ret_text,
                        size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_decoder_token *list = calloc(n_tokens + 1, sizeof(*list));
    int r;

    if (!list)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_tokens; i++)
        list[i] = (struct leat_decoder_token){(const uint8_t *)tokens[i], n_bytes[i]};
    r = join(tokenizer, list, n_tokens, ret_text, ret_n_bytes, err);
    free(list);
    return r;
}
