/* marks.h: which of some marked ranges of a text a token stands in.
 *
 * The ranges are ascending bytes of the user's text; the mark of a place is 1 + the index of its
 * range, or 0. A token has the mark of the first range that it shares a byte with, one that stands
 * for no bytes that of the token before it. Most words and pieces of a text lie within one range or
 * between two, so all their tokens have the same mark, and the places of single tokens do not
 * matter: leat_marks_enter finds these words.
 *
 * A text is gone through from left to right. Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/range.h"

struct leat_marks {
    const struct leat_range *ranges; /* [n] */
    size_t n;
    size_t at;        /* the first that does not end before the place that was asked for last */
    uint32_t current; /* of that place */
};

void leat_marks_begin(struct leat_marks *marks, const struct leat_range *ranges, size_t n);

/* The mark of a token. */
uint32_t leat_marks_of(struct leat_marks *marks, struct leat_range token);

/* True if all of `part` has one mark, which is then the current one. */
bool leat_marks_enter(struct leat_marks *marks, struct leat_range part);
