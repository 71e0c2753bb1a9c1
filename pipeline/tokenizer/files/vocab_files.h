/* vocab_files.h: vocab.txt, and vocab.json with merges.txt, to a tokenizer.json. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

/* leat takes these values from tokenizer_config.json. The thread that loads owns them. */
struct leat_files_config {
    char *pad_token;     /* NULL: none */
    bool lowercase;      /* do_lower_case */
    int strip_accents;   /* -1: as lowercase says */
    bool spaces_chinese; /* tokenize_chinese_chars */
    bool adds_prefix_space;
};

/* The values without the file. */
#define LEAT_FILES_CONFIG_DEFAULT                                                                  \
    ((struct leat_files_config){.lowercase = true, .strip_accents = -1, .spaces_chinese = true})

void leat_files_config_deinit(struct leat_files_config *config);

/* Reads the text of a tokenizer_config.json; `file` is its name. 0 or a negative errno with err
 * set. */
int leat_files_config_parse(const char *text, size_t n, const char *file,
                            struct leat_files_config *config, struct leat_error *err);

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
