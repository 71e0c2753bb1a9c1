/* user_text.h: a text as the user hands it in: made valid, and its characters counted. Owner: the
 * job. */
#pragma once

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
