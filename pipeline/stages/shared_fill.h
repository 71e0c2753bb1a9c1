/* shared_fill.h: what pad and pack fill rows with: a number, or a token by its name. */
#pragma once

#include "pipeline/stage/stage.h"

/* The number that `arg` gives for the field. A token's name is looked up in the tokenizer that made
 * the field; without such a token it is an error. */
int leat_fill_number(const struct leat_config *config, const char *arg,
                     const struct leat_token_value *value, const struct leat_field *field,
                     double *ret_number, struct leat_error *err);
