/* config.h: what is taken from tokenizer_config.json. Owner: the thread that loads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"

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
