/* model.c: what all types of models share. See model.h. */
#include "pipeline/tokenizer/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/token_encoding.h"

#define KEY_MAX     (LEAT_TOKEN_TEXT_MAX + 4)
#define TOKEN_BYTES 8 /* on average, to begin with */
#define AHEAD       8 /* tokens whose slots are fetched */

static const struct leat_model_ops *const types[] = {&leat_model_bpe, &leat_model_wordpiece,
                                                     &leat_model_wordlevel, &leat_model_unigram};

#define N_TYPES (sizeof(types) / sizeof(*types))

static bool has(const struct leat_component *component, const char *key) {
    struct leat_component child;

    return leat_component_get(component, key, &child);
}

/* A model without `type`: by the fields that each type must have, in HF's order. */
static const struct leat_model_ops *guess_type(const struct leat_component *model) {
    struct leat_component vocab;

    if (has(model, "merges"))
        return &leat_model_bpe;
    if (has(model, "continuing_subword_prefix") && has(model, "max_input_chars_per_word"))
        return &leat_model_wordpiece;
    if (leat_component_get(model, "vocab", &vocab) && leat_json_kind(vocab.node) == LEAT_JSON_ARRAY)
        return &leat_model_unigram;
    return &leat_model_wordlevel;
}

int leat_model_find(const struct leat_component *component, const struct leat_model_ops **ret_ops,
                    struct leat_error *err) {
    const char *names[N_TYPES + 1] = {NULL};
    int choice, r;

    *ret_ops = guess_type(component);
    if (!has(component, "type"))
        return 0;
    for (size_t i = 0; i < N_TYPES; i++)
        names[i] = types[i]->name;
    r = leat_component_choice(component, "type", names, -1, &choice, err);
    if (r == 0)
        *ret_ops = types[choice];
    return r;
}

int leat_model_new(const struct leat_model_ops *ops, const struct leat_component *component,
                   bool is_byte_level, struct leat_model **ret_model, struct leat_error *err) {
    struct leat_model *model = calloc(1, ops->model_bytes);
    int r;

    if (!model)
        return leat_error_oom(err);
    *model = (struct leat_model){
        .ops = ops, .n_bytes = ops->model_bytes, .is_byte_level = is_byte_level};
    r = ops->load(model, component, err);
    if (r < 0)
        leat_model_free(model);
    else
        *ret_model = model;
    return r;
}

struct leat_model *leat_model_free(struct leat_model *model) {
    if (!model)
        return NULL;
    if (model->ops->free)
        model->ops->free(model);
    leat_token_table_deinit(&model->tokens);
    free(model);
    return NULL;
}

int leat_model_context_new(const struct leat_model *model,
                           struct leat_model_context **ret_context) {
    struct leat_model_context *context = calloc(1, model->ops->context_bytes);

    if (!context)
        return -ENOMEM;
    context->model = model;
    if (leat_word_cache_init(&context->cache) < 0 ||
        (model->ops->context_init && model->ops->context_init(context) < 0)) {
        leat_model_context_free(context);
        return -ENOMEM;
    }
    *ret_context = context;
    return 0;
}

struct leat_model_context *leat_model_context_free(struct leat_model_context *context) {
    if (!context)
        return NULL;
    leat_word_cache_deinit(&context->cache);
    if (context->model->ops->context_deinit)
        context->model->ops->context_deinit(context);
    free(context);
    return NULL;
}

/* ---- what several types read */

/* The member's place: model.vocab."foo". */
static struct leat_component member(const struct leat_component *vocab, const char *token,
                                    size_t n_bytes, struct leat_json_node node, char key[KEY_MAX]) {
    char text[LEAT_TOKEN_TEXT_MAX];

    (void)snprintf(key, KEY_MAX, "\"%s\"", leat_token_text((const uint8_t *)token, n_bytes, text));
    return (struct leat_component){.node = node,
                                   .parent = vocab,
                                   .key = key,
                                   .document = vocab->document,
                                   .depth = vocab->depth + 1};
}

static bool is_id(struct leat_json_node node) {
    return leat_json_kind(node) == LEAT_JSON_INT && leat_json_int(node) >= 0 &&
           leat_json_int(node) <= LEAT_TOKEN_TABLE_ID_MAX;
}

static int refuse(const struct leat_component *component, struct leat_error *err) {
    struct leat_json_node node = component->node;

    if (leat_json_kind(node) == LEAT_JSON_INT)
        return leat_component_error(component, err, "%lld is not an id: ids are 0 to %u",
                                    (long long)leat_json_int(node), LEAT_TOKEN_TABLE_ID_MAX);
    if (leat_json_kind(node) == LEAT_JSON_UINT)
        return leat_component_error(component, err, "%llu is not an id: ids are 0 to %u",
                                    (unsigned long long)leat_json_uint(node),
                                    LEAT_TOKEN_TABLE_ID_MAX);
    return leat_component_error(component, err, "is %s, but an id must be an integer",
                                leat_json_kind_name(leat_json_kind(node)));
}

static int add(const struct leat_component *vocab, struct leat_token_table *tokens,
               const char *token, size_t n_bytes, struct leat_json_node node,
               struct leat_error *err) {
    struct leat_component place;
    char key[KEY_MAX];

    if (is_id(node) &&
        leat_token_table_add(tokens, token, n_bytes, (uint32_t)leat_json_int(node), err) == 0)
        return 0;
    place = member(vocab, token, n_bytes, node, key);
    return is_id(node) ? leat_component_place(&place, err) : refuse(&place, err);
}

static void prefetch(const struct leat_token_table *tokens, struct leat_json_iterator *ahead) {
    struct leat_json_node value;
    const char *token;
    size_t n_bytes;

    if (leat_json_next_member(ahead, &token, &n_bytes, &value))
        leat_token_table_prefetch(tokens, token, n_bytes);
}

static int add_all(const struct leat_component *vocab, struct leat_token_table *tokens,
                   struct leat_error *err) {
    size_t n_tokens = leat_json_n_items(vocab->node), n_bytes;
    struct leat_json_iterator it, ahead;
    struct leat_json_node value;
    const char *token;
    int r = 0;

    if (n_tokens > LEAT_TOKEN_TABLE_TOKENS_MAX)
        return leat_component_error(vocab, err, "has %zu tokens; at most %u are possible", n_tokens,
                                    LEAT_TOKEN_TABLE_TOKENS_MAX);
    if (leat_token_table_reserve(tokens, n_tokens, n_tokens * TOKEN_BYTES) < 0)
        return leat_error_oom(err);
    leat_json_iterate(vocab->node, &ahead);
    for (int i = 0; i < AHEAD; i++)
        prefetch(tokens, &ahead);
    leat_json_iterate(vocab->node, &it);
    while (r == 0 && leat_json_next_member(&it, &token, &n_bytes, &value)) {
        prefetch(tokens, &ahead);
        r = add(vocab, tokens, token, n_bytes, value, err);
    }
    leat_token_table_shrink(tokens);
    return r;
}

int leat_model_read_vocab(struct leat_model *model, const struct leat_component *component,
                          struct leat_error *err) {
    struct leat_component vocab;
    int r = leat_component_child(component, "vocab", LEAT_JSON_OBJECT, &vocab, err);

    return r < 0 ? r : add_all(&vocab, &model->tokens, err);
}

int leat_model_read_unknown(const struct leat_model *model, const struct leat_component *component,
                            int32_t *ret_id, char ret_text[LEAT_MODEL_UNKNOWN_TEXT_MAX],
                            struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];
    const char *text;
    size_t n;
    int r = leat_component_string(component, "unk_token", NULL, &text, &n, err);

    if (r < 0)
        return r;
    *ret_id = leat_token_table_find(&model->tokens, text, n);
    (void)snprintf(ret_text, LEAT_MODEL_UNKNOWN_TEXT_MAX, "%s",
                   leat_token_text((const uint8_t *)text, n, shown));
    return 0;
}

void leat_model_find_bytes(const struct leat_model *model, int32_t ret_ids[256]) {
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[8];
        int n = snprintf(text, sizeof(text), "<0x%02X>", byte);

        ret_ids[byte] = leat_token_table_find(&model->tokens, text, (size_t)n);
    }
}
