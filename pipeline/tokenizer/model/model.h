/* model.h: the `model` of a tokenizer.json: words to token ids.
 *
 * Each model type is one struct leat_model_ops: BPE, WordPiece, WordLevel, Unigram. `leat_model`
 * and `leat_model_context` are the heads of each type's own structs. A model is immutable: any
 * thread; a context holds one job's scratch memory and cache of words, which stays warm from
 * document to document.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/model/word_cache.h"
#include "pipeline/tokenizer/token_table.h"
#include "proto/base/rng.h"

/* ids that an encode function may write after the last one that counts */
#define LEAT_MODEL_IDS_SLACK 16

struct leat_token {
    int32_t id;
    struct leat_range range; /* bytes of the text */
};

struct leat_model {
    const struct leat_model_ops *ops;
    struct leat_token_table tokens; /* as the file spells them */
    size_t n_bytes;                 /* memory besides the tokens */
    bool is_byte_level;             /* words are raw bytes that stand for GPT-2's characters */
    bool has_chance;                /* what a text gives depends on the seed too */
    bool unknown_is_text;           /* tokens of unknown_id are spelled as the text that they */
    int32_t unknown_id;             /* stand for */
    char algorithm[256];            /* what was chosen and why, for people */
};

struct leat_model_context {
    const struct leat_model *model;
    struct leat_word_cache cache;
    struct leat_rng random; /* for models with chance; the caller seeds it */
};

/* The operations of a type of model; model.c does what all types have in common. */
struct leat_model_ops {
    const char *name; /* the `type` of the file */
    size_t model_bytes, context_bytes;

    /* Fills a zeroed model whose head is there from the node `model`. `free` frees what it holds
     * besides the head, also after a failure; NULL: nothing. */
    int (*load)(struct leat_model *model, const struct leat_component *component,
                struct leat_error *err);
    void (*free)(struct leat_model *model);

    /* The same of a context; NULL: nothing besides the head. 0 or -ENOMEM. */
    int (*context_init)(struct leat_model_context *context);
    void (*context_deinit)(struct leat_model_context *context);

    /* The ids of a word that the cache does not know; userdata: the context. */
    leat_word_encode *encode_word;
    /* leat_model_encode(), of a type that does more than ask the cache for each word; or NULL. */
    int (*encode)(struct leat_model_context *context, const struct leat_text_view *text,
                  const struct leat_range *words, size_t n_words, int32_t *ids, size_t *ret_n_ids,
                  struct leat_error *err);
    /* leat_model_encode_tokens(). */
    int (*encode_tokens)(struct leat_model_context *context, const struct leat_text_view *text,
                         struct leat_range word, struct leat_token *tokens, size_t *ret_n_tokens,
                         struct leat_error *err);
};

extern const struct leat_model_ops leat_model_bpe, leat_model_wordpiece, leat_model_wordlevel,
    leat_model_unigram;

/* The type of a node `model`, by its `type` or else by its fields. 0 or -EINVAL. */
int leat_model_find(const struct leat_component *component, const struct leat_model_ops **ret_ops,
                    struct leat_error *err);

int leat_model_new(const struct leat_model_ops *ops, const struct leat_component *component,
                   bool is_byte_level, struct leat_model **ret_model, struct leat_error *err);
struct leat_model *leat_model_free(struct leat_model *model);

int leat_model_context_new(const struct leat_model *model, struct leat_model_context **ret_context);
struct leat_model_context *leat_model_context_free(struct leat_model_context *context);

/* The ids of all words, one after the other. A word of n bytes gives at most n ids; `ids` has room
 * for that and LEAT_MODEL_IDS_SLACK more. text: padded (text.h). 0; -ENOMEM; -EINVAL: the model has
 * no id for what it found (no unknown token). */
static inline int leat_model_encode(struct leat_model_context *context,
                                    const struct leat_text_view *text,
                                    const struct leat_range *words, size_t n_words, int32_t *ids,
                                    size_t *ret_n_ids, struct leat_error *err) {
    const struct leat_model_ops *ops = context->model->ops;

    if (ops->encode)
        return ops->encode(context, text, words, n_words, ids, ret_n_ids, err);
    return leat_word_cache_encode(&context->cache, text, words, n_words, ops->encode_word, context,
                                  ids, ret_n_ids, err);
}

/* The same ids for one word, with the bytes of the text that each stands for. tokens: room for as
 * many as the word has bytes. */
static inline int leat_model_encode_tokens(struct leat_model_context *context,
                                           const struct leat_text_view *text,
                                           struct leat_range word, struct leat_token *tokens,
                                           size_t *ret_n_tokens, struct leat_error *err) {
    return context->model->ops->encode_tokens(context, text, word, tokens, ret_n_tokens, err);
}

/* ---- what several types read */

/* Adds the members of the object `vocab`, {token: id}, to the model's tokens. As in HF's maps, of
 * equal texts the last one counts; ids may have holes and may repeat. */
int leat_model_read_vocab(struct leat_model *model, const struct leat_component *component,
                          struct leat_error *err);
/* `unk_token`: its id, -1: it is not in the vocabulary, which is an error only when it is needed;
 * and its text for that error. */
#define LEAT_MODEL_UNKNOWN_TEXT_MAX 64
int leat_model_read_unknown(const struct leat_model *model, const struct leat_component *component,
                            int32_t *ret_id, char ret_text[LEAT_MODEL_UNKNOWN_TEXT_MAX],
                            struct leat_error *err);
/* The ids of <0x00> to <0xFF>, -1: none. */
void leat_model_find_bytes(const struct leat_model *model, int32_t ret_ids[256]);
