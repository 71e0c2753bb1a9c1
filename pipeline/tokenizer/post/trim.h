/* trim.h: taking blanks off the offsets of tokens (trim_offsets). Owner: the job. */
#pragma once

#include "pipeline/tokenizer/post.h"

/* Trims the offsets of tokens start..n - 1, which begin a text (is_second: the second) or a part of
 * one, as often as the post says, and counts them in characters if the speller does. */
void leat_offsets_trim(struct leat_encoding *encoding, size_t start, bool is_second,
                       const struct leat_post *post, const struct leat_post_speller *speller);
