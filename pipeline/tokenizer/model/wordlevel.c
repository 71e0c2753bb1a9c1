/* wordlevel.c: WordLevel: a word is a token, or the unknown token. See model.h.
 *
 * That the unknown token exists is asked only when it is needed, as HF does. Where words are raw
 * bytes, they are spelled in GPT-2's alphabet before they are looked up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model.h"
#include "pipeline/tokenizer/model/word_cache.h"
#include "pipeline/tokenizer/token_text.h"

struct wordlevel {
    struct leat_model base;
    int64_t unknown; /* id, or -1 */
    bool is_byte_level;
    size_t n_longest; /* bytes of the longest token */
    char unknown_text[64];
};

struct wordlevel_context {
    const struct wordlevel *model;
    struct leat_word_cache cache;
    uint8_t *spelled; /* n_longest and one character */
};

static const struct wordlevel *of_model(const struct leat_model *model) {
    return (const struct wordlevel *)model;
}

static struct wordlevel_context *of_context(struct leat_model_context *context) {
    return (struct wordlevel_context *)context;
}

/* ---- encode */

/* The byte's character in GPT-2's alphabet: printable Latin-1 is itself, the others, in order, are
 * U+0100 and so on. Returns its length. */
static size_t spell_byte(uint8_t byte, uint8_t *ret_utf8) {
    uint32_t code = byte;

    if (byte <= 0x20)
        code = 0x100u + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        code = 0x121u + byte - 0x7f;
    else if (byte == 0xad)
        code = 0x143;
    if (code < 0x80) {
        ret_utf8[0] = (uint8_t)code;
        return 1;
    }
    ret_utf8[0] = (uint8_t)(0xc0 | code >> 6);
    ret_utf8[1] = (uint8_t)(0x80 | (code & 0x3f));
    return 2;
}

static int32_t find_spelled(const struct wordlevel_context *context, const uint8_t *word,
                            uint32_t n_bytes) {
    size_t n = 0;

    for (uint32_t i = 0; i < n_bytes; i++) {
        if (n >= context->model->n_longest)
            return -1;
        n += spell_byte(word[i], context->spelled + n);
    }
    return leat_token_table_find(&context->model->base.tokens, context->spelled, n);
}

static int find(const struct wordlevel_context *context, const uint8_t *word, uint32_t n_bytes,
                int32_t *ret_id, struct leat_error *err) {
    const struct wordlevel *model = context->model;

    *ret_id = model->is_byte_level ? find_spelled(context, word, n_bytes)
                                   : leat_token_table_find(&model->base.tokens, word, n_bytes);
    if (*ret_id < 0)
        *ret_id = (int32_t)model->unknown;
    if (*ret_id >= 0)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "the model does not know a word, and its unk_token \"%s\" is not in its "
                          "vocabulary",
                          model->unknown_text);
}

static int encode_word(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    *ret_n_ids = 1;
    return find(context, word, n_bytes, ids, err);
}

static int encode(const struct leat_model *model, struct leat_model_context *context,
                  const struct leat_text_view *text, const struct leat_range *words, size_t n_words,
                  int32_t *ids, size_t *ret_n_ids, struct leat_error *err) {
    (void)model;
    return leat_word_cache_encode(&of_context(context)->cache, text, words, n_words, encode_word,
                                  context, ids, ret_n_ids, err);
}

static int encode_tokens(const struct leat_model *model, struct leat_model_context *context,
                         const struct leat_text_view *text, struct leat_range word,
                         struct leat_token *tokens, size_t *ret_n_tokens, struct leat_error *err) {
    (void)model;
    tokens[0].range = word;
    *ret_n_tokens = 1;
    return find(of_context(context), text->bytes + word.start, word.end - word.start, &tokens[0].id,
                err);
}

static struct leat_model_context *context_free(struct leat_model_context *context) {
    if (context) {
        leat_word_cache_deinit(&of_context(context)->cache);
        free(of_context(context)->spelled);
    }
    free(context);
    return NULL;
}

static int context_new(const struct leat_model *model, struct leat_model_context **ret_context) {
    struct wordlevel_context *context = calloc(1, sizeof(*context));

    if (!context)
        return -ENOMEM;
    context->model = of_model(model);
    context->spelled = malloc(context->model->n_longest + 2);
    if (!context->spelled || leat_word_cache_init(&context->cache) < 0) {
        free(context->spelled);
        free(context);
        return -ENOMEM;
    }
    *ret_context = (struct leat_model_context *)context;
    return 0;
}

static void context_clear(struct leat_model_context *context) {
    leat_word_cache_clear(&of_context(context)->cache);
}

/* ---- load */

static struct leat_model *model_free(struct leat_model *model) {
    if (model)
        leat_token_table_deinit(&model->tokens);
    free(model);
    return NULL;
}

static int read_unknown(struct wordlevel *model, const struct leat_component *component,
                        struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];
    const char *text;
    size_t n;
    int r = leat_component_string(component, "unk_token", NULL, &text, &n, err);

    if (r < 0)
        return r;
    model->unknown = leat_token_table_find(&model->base.tokens, text, n);
    (void)snprintf(model->unknown_text, sizeof(model->unknown_text), "%s",
                   leat_token_text((const uint8_t *)text, n, shown));
    return 0;
}

static int read(struct wordlevel *model, const struct leat_component *component,
                struct leat_error *err) {
    struct leat_token_table *tokens = &model->base.tokens;
    struct leat_component vocab;
    int r = leat_component_child(component, "vocab", LEAT_JSON_OBJECT, &vocab, err);

    if (r == 0)
        r = leat_model_read_vocab(&vocab, tokens, err);
    if (r == 0)
        r = read_unknown(model, component, err);
    if (r < 0)
        return r;
    leat_token_table_shrink(tokens);
    for (uint32_t i = 0; i < tokens->n_tokens; i++)
        if (tokens->texts[i].n_bytes > model->n_longest)
            model->n_longest = tokens->texts[i].n_bytes;
    return 0;
}

static int new (const struct leat_component *component, bool is_byte_level,
                struct leat_model **ret_model, struct leat_error *err) {
    struct wordlevel *model = calloc(1, sizeof(*model));
    int r;

    if (!model)
        return leat_error_oom(err);
    model->base = (struct leat_model){
        .ops = &leat_model_wordlevel,
        .n_bytes = sizeof(*model),
        .algorithm = "words looked up in a hash table, and cached",
    };
    model->is_byte_level = is_byte_level;
    r = read(model, component, err);
    if (r < 0) {
        model_free(&model->base);
        return r;
    }
    *ret_model = &model->base;
    return 0;
}

const struct leat_model_ops leat_model_wordlevel = {
    .name = "WordLevel",
    .new = new,
    .free = model_free,
    .context_new = context_new,
    .context_free = context_free,
    .context_clear = context_clear,
    .encode = encode,
    .encode_tokens = encode_tokens,
};
