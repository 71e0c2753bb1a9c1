/* vocab_files.h: vocab.txt, and vocab.json with merges.txt, to a tokenizer.json. Pure. */
#pragma once

#include "pipeline/tokenizer/files/config.h"
#include "proto/base/text.h"

struct leat_files_input {
    const char *text;
    size_t n;
    const char *file;
};

/* Each appends to `json`. 0 or a negative errno with err set, naming the input's file and line;
 * json->failed is the caller's to check. */
int leat_files_vocab_txt(const struct leat_files_input *vocab,
                         const struct leat_files_config *config, struct leat_text *json,
                         struct leat_error *err);
int leat_files_vocab_merges(const struct leat_files_input *vocab,
                            const struct leat_files_input *merges,
                            const struct leat_files_config *config, struct leat_text *json,
                            struct leat_error *err);
