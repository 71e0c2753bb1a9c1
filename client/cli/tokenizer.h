/* tokenizer.h: the tokenizer that `--tokenizer FILE` names. */
#pragma once

#include "client/cli/arguments.h"

struct leat_tokenizer;

int leat_cli_tokenizer_open(const struct leat_cli_arguments *arguments,
                            struct leat_tokenizer **ret_tokenizer, struct leat_error *err);
/* The status of a command that was not given one. */
int leat_cli_tokenizer_missing(const char *command, struct leat_error *err);
