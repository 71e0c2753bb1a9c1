/* trim.h: taking blanks off the offsets of tokens (trim_offsets). Owner: the job. */
#pragma once

#include "pipeline/tokenizer/post.h"

/* Trims the offsets of tokens start..n - 1, which begin a text (is_second: the second) or a part of
 * one. leaves_first: of a token at the start, or with offsets that begin at 0, a single blank in
 * front is not taken off. */
void leat_offsets_trim(struct leat_encoding *encoding, size_t start, bool is_second,
                       bool leaves_first, const struct leat_post_speller *speller);
