/* lengths.h: `truncation` and `padding` of a tokenizer.json: reading them, and what they do to the
 * tokens of texts.
 *
 * Truncation cuts a text into parts of equal length that overlap; part 0 is kept and the others are
 * the overflow. Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/encoding_columns.h"
#include "pipeline/tokenizer/truncation.h"

int leat_truncation_read(const struct leat_component *component /* NULL: off */,
                         struct leat_truncation *ret_truncation, struct leat_error *err);
int leat_padding_read(const struct leat_component *component /* NULL: off */,
                      struct leat_padding *ret_padding, struct leat_error *err);

/* The most that padding may ask for. */
#define LEAT_PADDING_LENGTH_MAX (UINT32_C(16) << 20)

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

/* The length that encodings are padded to if the (longest) result has n tokens. */
size_t leat_padding_target(const struct leat_padding *padding, size_t n);

/* Pads one; a longer one is left alone. 0, -ENOMEM. */
int leat_padding_apply(const struct leat_padding *padding, size_t target,
                       struct leat_encoding *encoding);
