/* wordlevel.c: WordLevel: a word is a token, or the unknown token. See model.h.
 *
 * A missing unknown token is an error only when it is needed, as in HF. Where words are raw
 * bytes, they are spelled in GPT-2's alphabet before they are looked up.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/model.h"

struct wordlevel {
    struct leat_model base;
    int32_t unknown;  /* id, or -1 */
    size_t n_longest; /* bytes of the longest token */
    char unknown_text[LEAT_MODEL_UNKNOWN_TEXT_MAX];
};

struct wordlevel_context {
    struct leat_model_context base;
    uint8_t *spelled; /* n_longest and one character */
};

/* ---- encode */

static int32_t find_spelled(const struct wordlevel_context *context, const uint8_t *word,
                            uint32_t n_bytes) {
    const struct wordlevel *model = (const struct wordlevel *)context->base.model;
    size_t n = 0;

    for (uint32_t i = 0; i < n_bytes; i++) {
        if (n >= model->n_longest)
            return -1;
        n += leat_byte_level_map(word[i], context->spelled + n);
    }
    return leat_token_table_find(&model->base.tokens, context->spelled, n);
}

static int encode_word(void *userdata, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    const struct wordlevel_context *context = userdata;
    const struct wordlevel *model = (const struct wordlevel *)context->base.model;

    *ret_n_ids = 1;
    ids[0] = model->base.is_byte_level ? find_spelled(context, word, n_bytes)
                                       : leat_token_table_find(&model->base.tokens, word, n_bytes);
    if (ids[0] < 0)
        ids[0] = model->unknown;
    if (ids[0] >= 0)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "the model does not know a word, and its unk_token \"%s\" is not in its "
                          "vocabulary",
                          model->unknown_text);
}

static int encode_tokens(struct leat_model_context *context, const struct leat_text_view *text,
                         struct leat_range word, struct leat_token *tokens, size_t *ret_n_tokens,
                         struct leat_error *err) {
    tokens[0].range = word;
    return encode_word(context, text->bytes + word.start, word.end - word.start, &tokens[0].id,
                       ret_n_tokens, err);
}

static int context_init(struct leat_model_context *context) {
    struct wordlevel_context *self = (struct wordlevel_context *)context;

    self->spelled = malloc(((const struct wordlevel *)context->model)->n_longest + 2);
    return self->spelled ? 0 : -ENOMEM;
}

static void context_deinit(struct leat_model_context *context) {
    free(((struct wordlevel_context *)context)->spelled);
}

/* ---- load */

static int load(struct leat_model *base, const struct leat_component *component,
                struct leat_error *err) {
    struct wordlevel *model = (struct wordlevel *)base;
    int r = leat_model_read_vocab(base, component, err);

    if (r == 0)
        r = leat_model_read_unknown(base, component, &model->unknown, model->unknown_text, err);
    model->n_longest = leat_token_table_longest(&base->tokens);
    strcpy(base->algorithm, "words looked up in a hash table, and cached");
    return r;
}

const struct leat_model_ops leat_model_wordlevel = {
    .name = "WordLevel",
    .model_bytes = sizeof(struct wordlevel),
    .context_bytes = sizeof(struct wordlevel_context),
    .load = load,
    .context_init = context_init,
    .context_deinit = context_deinit,
    .encode_word = encode_word,
    .encode_tokens = encode_tokens,
};
