/* cut.h: where a text is cut when it is truncated: into parts of equal length that overlap, of
 * which part 0 is kept and the others are the overflow. Pure. */
#pragma once

#include "pipeline/tokenizer/post.h"

struct leat_truncation_cut {
    size_t n;       /* tokens of the text */
    size_t keep;    /* of a part */
    size_t stride;  /* tokens that a part shares with the one before */
    bool from_left; /* part 0 is the tail */
    size_t n_parts; /* 1: all is kept */
};

/* The cuts of one text (n_texts 1) or two, of so many tokens, where n_added special tokens will be
 * added. truncation may be NULL. 0, or -EINVAL as leat_post_run says. */
int leat_truncation_cut_plan(const struct leat_truncation *truncation, size_t n_added,
                             const size_t *n_tokens, size_t n_texts,
                             struct leat_truncation_cut cuts[2], struct leat_error *err);

/* Tokens *ret_start..*ret_end - 1 are part i, i < n_parts. */
void leat_truncation_cut_part(const struct leat_truncation_cut *cut, size_t i, size_t *ret_start,
                              size_t *ret_end);
