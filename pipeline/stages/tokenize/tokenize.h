/* tokenize/tokenize.h: the stage `tokenize` and its two sides: a CharTrie over any vocabulary
 * (vocab.c, argument `vocab`), and a tokenizer as Hugging Face has it (model.c, argument
 * `tokenizer`). */
#pragma once

#include "pipeline/stage/stage.h"

struct leat_chartrie;
struct leat_tokenizer;

struct leat_tokenize {
    struct leat_config base;
    const char *input;
    const char *output;
    int64_t max_length;
    int truncation_side;
    int64_t seed;

    /* vocab */
    const char *vocab;
    int vocab_encoding;
    int mode;
    int unknown;
    int64_t unk_id;
    const char *scores;
    int64_t bos_id;
    int64_t eos_id;

    /* tokenizer */
    const char *tokenizer_path;
    const char *pair;
    bool add_special_tokens;
    int truncation;
    bool return_offsets_mapping;
    bool return_token_type_ids;
    bool return_assistant_tokens_mask;
    const char *bos;
    const char *eos;

    /* made of them */
    struct leat_blake2b contents; /* of the files that were read */
    struct leat_contents files;   /* of each of them */
    uint32_t input_column, output_column;
    int64_t pad_id; /* -1: not known */

    struct leat_chartrie *trie;

    struct leat_tokenizer *tokenizer;
    int32_t first_id, last_id; /* added in front and behind; -1: none */
    uint32_t pair_column, types_column, offsets_column, masks_column;
    int32_t parts_column; /* parts that the model is to say (shared_loss.h); -1: unknown */
    uint32_t loss_column; /* made of parts_column */
};

struct leat_tokenize_workspace;

/* One side of the stage. Functions are as in struct leat_stage_ops. */
struct leat_tokenize_side {
    const char *const *args; /* that only this side has; NULL-terminated */
    int (*check)(const struct leat_tokenize *self, struct leat_error *err);
    int (*load)(struct leat_tokenize *self, const struct leat_opener *opener,
                struct leat_error *err);
    int (*plan)(struct leat_tokenize *self, struct leat_planner *planner, struct leat_error *err);
    int (*map)(const struct leat_tokenize *self, struct leat_map *map, struct leat_error *err);
    /* *ret_workspace stays as it is if there is nothing to keep. */
    int (*workspace_new)(const struct leat_tokenize *self,
                         struct leat_tokenize_workspace **ret_workspace, struct leat_error *err);
    void (*workspace_free)(struct leat_tokenize_workspace *workspace);
};

/* How a workspace begins. */
struct leat_tokenize_workspace {
    const struct leat_tokenize_side *side;
};

extern const struct leat_tokenize_side leat_tokenize_vocab;
extern const struct leat_tokenize_side leat_tokenize_model;

/* pad and pack fill rows with this: a number, or a token by its name. */
/* The number that `arg` gives for the field. A token's name is looked up in the tokenizer that made
 * the field; without such a token it is an error. */
int leat_fill_number(const struct leat_config *config, const char *arg,
                     const struct leat_token_value *value, const struct leat_field *field,
                     double *ret_number, struct leat_error *err);
