/* model_template.h: the chat template that a model brings with it, for `chat: {template: auto}`.
 *
 * It is found where transformers finds it: in chat_template.jinja beside the tokenizer, else as
 * `chat_template` of tokenizer_config.json. That file and special_tokens_map.json also name the
 * special tokens (bos_token, ...) that the template may read.
 *
 * Immutable once loaded: any thread. A workspace belongs to one job.
 */
#pragma once

#include "pipeline/stages/shared_dialogue.h"
#include "pipeline/tokenizer/jinja/jinja.h"

#define LEAT_MODEL_TOKENS_MAX 64

struct leat_model_token {
    char *name, *text; /* "bos_token", "<s>" */
};

struct leat_model_template {
    struct leat_jinja_template *jinja;
    struct leat_model_token tokens[LEAT_MODEL_TOKENS_MAX];
    size_t n_tokens;
    bool marks; /* the template says itself which parts the model is to say */
    struct leat_blake2b digest;
    struct leat_contents files;
};

/* tokenizer: a directory or a file in it, or NULL; template_file: used in place of the tokenizer's
 * own template, or NULL. with_tools: prefers the template for tools, where there are several. 0 or
 * a negative errno with err set. */
int leat_model_template_load(struct leat_model_template *model, const char *tokenizer,
                             const char *template_file, bool with_tools,
                             const struct leat_opener *opener, struct leat_error *err);
void leat_model_template_unload(struct leat_model_template *model);
/* The text of a special token; NULL: the model has none of that name. */
const char *leat_model_template_token(const struct leat_model_template *model, const char *name);

/* JSON texts of one record; an absent one has NULL. */
struct leat_model_chat {
    const void *messages, *completion, *tools, *documents;
    size_t n_messages, n_completion, n_tools, n_documents;
    bool wants_parts;
};
/* Settings that hold for all records. */
struct leat_model_settings {
    const struct leat_text_map *variables;
    const char *bos, *eos, *system; /* NULL: as the model has them */
    bool add_generation_prompt;
    struct tm date;
    bool has_date;
};

struct leat_model_workspace;
struct leat_model_workspace *leat_model_workspace_new(const struct leat_model_template *model);
void leat_model_workspace_free(struct leat_model_workspace *workspace);

/* Writes the conversation of one record. 0; -ENOMEM; another negative errno: the record is bad, and
 * err says why. */
int leat_model_template_write(const struct leat_model_template *model,
                              const struct leat_model_settings *settings,
                              const struct leat_model_chat *chat,
                              struct leat_model_workspace *workspace,
                              struct leat_dialogue_writer *writer, struct leat_error *err);
