/* files_vocab.h: vocab.txt, and vocab.json with merges.txt, to a tokenizer.json. Pure. */
#pragma once

#include "pipeline/tokenizer/files_config.h"
#include "pipeline/tokenizer/files_text.h"

struct leat_files_input {
    const char *text;
    size_t n;
    const char *file;
};

/* Each: 0 or a negative errno with err set, naming the input's file and line. */
int leat_files_vocab_txt(const struct leat_files_input *vocab,
                         const struct leat_files_config *config, struct leat_files_text *json,
                         struct leat_error *err);
int leat_files_vocab_merges(const struct leat_files_input *vocab,
                            const struct leat_files_input *merges,
                            const struct leat_files_config *config, struct leat_files_text *json,
                            struct leat_error *err);

/* One of `added_tokens`, special. */
void leat_files_put_special(struct leat_files_text *json, const char *token, uint32_t id);

/* Sets an error at a line of an input; returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int leat_files_error(const struct leat_files_input *input,
                                                           uint32_t line, struct leat_error *err,
                                                           const char *format, ...);
