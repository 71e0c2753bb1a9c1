/* model.h: the `model` of a tokenizer.json: words to token ids.
 *
 * Each model type is one struct leat_model_ops: BPE, WordPiece, WordLevel, Unigram. `leat_model` is
 * the head of each type's own struct. A model is immutable: any thread; a context holds one job's
 * scratch memory and cache of words, which stays warm from document to document.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/text.h"
#include "pipeline/tokenizer/token_table.h"

/* ids that an encode function may write behind the last one that counts */
#define LEAT_MODEL_IDS_SLACK 16

struct leat_token {
    int32_t id;
    struct leat_range range; /* bytes of the text */
};

struct leat_model;
struct leat_model_context;

struct leat_model_ops {
    const char *name; /* the `type` of the file */

    /* is_byte_level: words are raw bytes that stand for characters of GPT-2's alphabet. component:
     * the node `model`, whose `type` may be missing. */
    int (*new)(const struct leat_component *component, bool is_byte_level,
               struct leat_model **ret_model, struct leat_error *err);
    struct leat_model *(*free)(struct leat_model *model);

    int (*context_new)(const struct leat_model *model, struct leat_model_context **ret_context);
    struct leat_model_context *(*context_free)(struct leat_model_context *context);
    /* Forgets all words it has seen, for measurements from cold. */
    void (*context_clear)(struct leat_model_context *context);
    /* NULL for a model without chance: where its random numbers start. */
    void (*context_seed)(struct leat_model_context *context, uint64_t seed);

    /* The ids of all words, one behind the other. A word of n bytes gives at most n ids; `ids` has
     * room for that and LEAT_MODEL_IDS_SLACK more. text: padded (text.h). 0; -ENOMEM; -EINVAL: the
     * model has no id for what it found (no unknown token). */
    int (*encode)(const struct leat_model *model, struct leat_model_context *context,
                  const struct leat_text_view *text, const struct leat_range *words, size_t n_words,
                  int32_t *ids, size_t *ret_n_ids, struct leat_error *err);

    /* The same ids for one word, with the bytes of the text that each stands for. tokens: room for
     * as many as the word has bytes. */
    int (*encode_tokens)(const struct leat_model *model, struct leat_model_context *context,
                         const struct leat_text_view *text, struct leat_range word,
                         struct leat_token *tokens, size_t *ret_n_tokens, struct leat_error *err);
};

struct leat_model {
    const struct leat_model_ops *ops;
    struct leat_token_table tokens; /* as the file spells them */
    size_t n_bytes;                 /* memory besides the tokens */
    bool has_chance;                /* what a text gives depends on the seed too */
    bool unknown_is_text;           /* tokens of unknown_id are spelled as the text that they */
    int32_t unknown_id;             /* stand for */
    char algorithm[256];            /* what was chosen and why, for people */
};

extern const struct leat_model_ops leat_model_bpe;
extern const struct leat_model_ops leat_model_wordpiece;
extern const struct leat_model_ops leat_model_wordlevel;
extern const struct leat_model_ops leat_model_unigram;

/* Adds the members of `component` ({token: id}) to the table, ids within its limits. */
int leat_model_read_vocab(const struct leat_component *component, struct leat_token_table *tokens,
                          struct leat_error *err);
