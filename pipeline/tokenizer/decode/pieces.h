/* pieces.h: a list of strings that a step of decoding writes. Owner: the job. */
#pragma once

#include "pipeline/tokenizer/text.h"

#define LEAT_REPLACEMENT_CHARACTER "\xef\xbf\xbd" /* U+FFFD */

struct leat_decoder_token {
    const uint8_t *bytes;
    uint32_t n_bytes;
};

struct leat_pieces {
    struct leat_text_buffer text;      /* all of them, one after the other */
    struct leat_decoder_token *pieces; /* [n]; bytes are set by leat_pieces_view */
    size_t n, capacity;
    uint32_t start;   /* of the piece that is being written */
    bool only_counts; /* nothing is written, */
    size_t n_counted; /* but the bytes are counted */
};

void leat_pieces_deinit(struct leat_pieces *pieces); /* of zeroed ones too */
void leat_pieces_clear(struct leat_pieces *pieces);

/* Each of the following appends to the piece that is being written. 0, -ENOMEM, -E2BIG. */
int leat_pieces_put(struct leat_pieces *pieces, const void *bytes, size_t n);

/* Bytes that may not be UTF-8, with U+FFFD for each maximal part of a character that is not
 * complete and each other wrong byte (Unicode 3.9), as String::from_utf8_lossy does. */
int leat_pieces_put_lossy(struct leat_pieces *pieces, const uint8_t *bytes, size_t n);

/* A text with each `from` (valid UTF-8) replaced by `to` from left to right, as Rust's str::replace
 * does. An empty `from` stands before each character and at the end. */
int leat_pieces_put_replaced(struct leat_pieces *pieces, const struct leat_decoder_token *text,
                             const struct leat_decoder_token *from,
                             const struct leat_decoder_token *to);

/* Takes blanks before punctuation and shortened words out of the piece that is being written, as
 * `cleanup` of Hugging Face `tokenizers` does. */
void leat_pieces_clean_up(struct leat_pieces *pieces);

/* Ends the piece that is being written. 0, -ENOMEM. */
int leat_pieces_end(struct leat_pieces *pieces);
/* Appends bytes and ends the piece. */
int leat_pieces_add(struct leat_pieces *pieces, const void *bytes, size_t n);

/* The pieces that were ended; valid until the next change. */
const struct leat_decoder_token *leat_pieces_view(struct leat_pieces *pieces);
