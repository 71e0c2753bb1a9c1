/* substitute.h: replacing one string by another throughout, as Rust's str::replace does. Pure. */
#pragma once

#include "pipeline/tokenizer/decode/step.h"

/* Appends text with each `from` (valid UTF-8) replaced by `to`, from left to right. An empty `from`
 * stands before each character and at the end. 0, -ENOMEM, -E2BIG. */
int leat_substitute(const struct leat_decoder_token *text, const struct leat_string *from,
                    const struct leat_string *to, struct leat_pieces *out);

/* Takes blanks before punctuation and shortened words out of the piece that is being written, as
 * `cleanup` of Hugging Face `tokenizers` does. */
void leat_clean_up(struct leat_pieces *pieces);
