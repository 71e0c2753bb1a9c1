/* pieces.h: a list of strings that a step of decoding writes. Owner: the job. */
#pragma once

#include "pipeline/tokenizer/decoder.h"

struct leat_pieces {
    struct leat_text_buffer text;      /* all of them, one behind the other */
    struct leat_decoder_token *pieces; /* [n]; bytes are set by leat_pieces_view */
    size_t n, capacity;
    uint32_t start;   /* of the piece that is being written */
    bool only_counts; /* nothing is written, */
    size_t n_counted; /* but the bytes are counted */
};

void leat_pieces_deinit(struct leat_pieces *pieces); /* of zeroed ones too */
void leat_pieces_clear(struct leat_pieces *pieces);

/* Appends to the piece that is being written. 0, -ENOMEM, -E2BIG. */
int leat_pieces_put(struct leat_pieces *pieces, const void *bytes, size_t n);
/* Ends it. 0, -ENOMEM. */
int leat_pieces_end(struct leat_pieces *pieces);

/* The pieces that were ended; valid until the next change. */
const struct leat_decoder_token *leat_pieces_view(struct leat_pieces *pieces);
