/* pad.h: carrying out a padding. Owner: the job. */
#pragma once

#include "pipeline/tokenizer/post.h"

/* The length that encodings are padded to if the (longest) result has n tokens. */
size_t leat_padding_target(const struct leat_padding *padding, size_t n);

/* Pads one; a longer one is left alone. 0, -ENOMEM. */
int leat_padding_apply(const struct leat_padding *padding, size_t target,
                       struct leat_encoding *encoding);
