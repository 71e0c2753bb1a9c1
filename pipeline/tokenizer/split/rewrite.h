/* rewrite.h: the steps that rewrite each piece of the text. */
#pragma once

#include "pipeline/tokenizer/split/step.h"

/* Rewrites the pieces of `source` into `target`, together with what is between them; the pieces
 * become ranges of the result. starts_document: byte 0 of the source is the first of the document.
 * 1: done, *ret_text is the result; 0: there is nothing to change, and target was left alone;
 * -ENOMEM, -E2BIG. */
int leat_split_step_rewrite(const struct leat_split_step *step, const struct leat_text_view *source,
                            struct leat_range *pieces, size_t n_pieces, bool starts_document,
                            struct leat_text_buffer *target, struct leat_text_view *ret_text);
