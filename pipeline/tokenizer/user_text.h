/* user_text.h: a text as the user hands it in: made valid, and its characters counted. Owner: the
 * job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/range.h"
#include "pipeline/tokenizer/text.h"

/* Appends a copy of the text to a buffer, with U+FFFD for what is no valid UTF-8: one for each
 * maximal part that begins a valid character (Unicode 3.9, "substitution of maximal subparts"), as
 * Python's errors="replace" does. 0, -ENOMEM, -E2BIG. */
int leat_user_text_copy(struct leat_text_buffer *buffer, const uint8_t *text, size_t n,
                        bool has_origins);

struct leat_char_place {
    uint32_t at, n_chars;
};

/* A text that is gone through once, from left to right. */
struct leat_char_count {
    const uint8_t *text;
    size_t n_bytes;
    struct leat_char_place start, end; /* of the last range */
};

/* A range of bytes of the text as a range of characters, as Python counts them in the valid copy.
 * Ranges come in ascending order, but for tokens that stand for parts of one character, which start
 * where the last one did, and for those that stand for nothing; then each byte is passed once. */
struct leat_range leat_char_count_range(struct leat_char_count *count, struct leat_range range);

/* Which of some marked ranges of a text a token stands in.
 *
 * The ranges are ascending bytes of the user's text; the mark of a place is 1 + the index of its
 * range, or 0. A token has the mark of the first range that it shares a byte with, one that stands
 * for no bytes that of the token before it. Most words and pieces of a text lie within one range or
 * between two, so all their tokens have the same mark, and the places of single tokens do not
 * matter: leat_marks_enter finds these words.
 *
 * A text is gone through from left to right. Owner: the job. */
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
