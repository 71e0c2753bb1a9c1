/* vocab_resolve.h: sorts the tokens of a vocabulary by id and decides between those that share
 * bytes or an id, as vocab.h says. */
#pragma once

#include "pipeline/tokenizer/vocab.h"

/* is_lines: errors name lines (id + 1) of `file`; else ids. 0, -EINVAL, -ENOMEM. */
int leat_vocab_resolve(struct leat_vocab *vocab, bool is_lines, const char *file,
                       struct leat_error *err);
