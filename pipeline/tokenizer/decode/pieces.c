/* pieces.c: see pieces.h. */
#include "pipeline/tokenizer/decode/pieces.h"

#include <errno.h>
#include <stdlib.h>

void leat_pieces_deinit(struct leat_pieces *pieces) {
    leat_text_buffer_deinit(&pieces->text);
    free(pieces->pieces);
    *pieces = (struct leat_pieces){.n = 0};
}

void leat_pieces_clear(struct leat_pieces *pieces) {
    pieces->text.n_bytes = 0;
    pieces->start = 0;
    pieces->n = 0;
}

int leat_pieces_put(struct leat_pieces *pieces, const void *bytes, size_t n) {
    int r;

    if (n > LEAT_TEXT_BYTES_MAX)
        return -E2BIG;
    if (pieces->only_counts) {
        pieces->n_counted += n;
        return pieces->n_counted > LEAT_TEXT_BYTES_MAX ? -E2BIG : 0;
    }
    r = leat_text_buffer_reserve(&pieces->text, n, false);
    if (r < 0)
        return r;
    if (n)
        memcpy(pieces->text.bytes + pieces->text.n_bytes, bytes, n);
    pieces->text.n_bytes += (uint32_t)n;
    return 0;
}

int leat_pieces_end(struct leat_pieces *pieces) {
    if (pieces->only_counts)
        return 0;
    if (pieces->n == pieces->capacity) {
        size_t capacity = pieces->capacity ? 2 * pieces->capacity : 64;
        struct leat_decoder_token *grown = reallocarray(pieces->pieces, capacity, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        pieces->pieces = grown;
        pieces->capacity = capacity;
    }
    pieces->pieces[pieces->n++].n_bytes = pieces->text.n_bytes - pieces->start;
    pieces->start = pieces->text.n_bytes;
    return 0;
}

const struct leat_decoder_token *leat_pieces_view(struct leat_pieces *pieces) {
    static const uint8_t none[1];
    const uint8_t *at = pieces->text.bytes ? pieces->text.bytes : none;

    for (size_t i = 0; i < pieces->n; i++) {
        pieces->pieces[i].bytes = at;
        at += pieces->pieces[i].n_bytes;
    }
    return pieces->pieces;
}
