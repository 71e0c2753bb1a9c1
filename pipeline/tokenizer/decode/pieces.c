#include "pipeline/tokenizer/decode/pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/base/array.h"
#include "proto/base/utf8.h"

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
    if (!leat_array_reserve(&pieces->pieces, pieces->n + 1, &pieces->capacity))
        return -ENOMEM;
    pieces->pieces[pieces->n++].n_bytes = pieces->text.n_bytes - pieces->start;
    pieces->start = pieces->text.n_bytes;
    return 0;
}

int leat_pieces_add(struct leat_pieces *pieces, const void *bytes, size_t n) {
    int r = leat_pieces_put(pieces, bytes, n);

    return r < 0 ? r : leat_pieces_end(pieces);
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

int leat_pieces_put_lossy(struct leat_pieces *pieces, const uint8_t *bytes, size_t n) {
    int r = 0;

    while (n && r == 0) {
        size_t length = leat_utf8_span(bytes, n);
        r = leat_pieces_put(pieces, bytes, length);
        bytes += length;
        n -= length;
        if (n == 0 || r < 0)
            break;
        r = leat_pieces_put(pieces, LEAT_REPLACEMENT_CHARACTER, 3);
        length = leat_utf8_broken(bytes, n);
        bytes += length;
        n -= length;
    }
    return r;
}

static int put_between(struct leat_pieces *pieces, const struct leat_decoder_token *text,
                       const struct leat_decoder_token *to) {
    int r = leat_pieces_put(pieces, to->bytes, to->n_bytes);

    for (uint32_t at = 0; at < text->n_bytes && r == 0;) {
        uint32_t n = leat_utf8_length(text->bytes + at, text->n_bytes - at);
        r = leat_pieces_put(pieces, text->bytes + at, n);
        if (r == 0)
            r = leat_pieces_put(pieces, to->bytes, to->n_bytes);
        at += n;
    }
    return r;
}

int leat_pieces_put_replaced(struct leat_pieces *pieces, const struct leat_decoder_token *text,
                             const struct leat_decoder_token *from,
                             const struct leat_decoder_token *to) {
    const uint8_t *at = text->bytes, *end = at + text->n_bytes, *found;
    int r = 0;

    if (!from->n_bytes)
        return put_between(pieces, text, to);
    while (r == 0 && (found = memmem(at, (size_t)(end - at), from->bytes, from->n_bytes))) {
        r = leat_pieces_put(pieces, at, (size_t)(found - at));
        if (r == 0)
            r = leat_pieces_put(pieces, to->bytes, to->n_bytes);
        at = found + from->n_bytes;
    }
    return r < 0 ? r : leat_pieces_put(pieces, at, (size_t)(end - at));
}

static const struct {
    const char *from, *to;
} clean_ups[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

/* Replaces in place; `to` is not longer than `from`. Returns how many bytes are left. */
static uint32_t shrink(uint8_t *text, uint32_t n, const char *from, const char *to) {
    size_t n_from = strlen(from), n_to = strlen(to);
    uint8_t *out = text, *at = text, *end = text + n, *found;

    while ((found = memmem(at, (size_t)(end - at), from, n_from))) {
        memmove(out, at, (size_t)(found - at));
        out += found - at;
        memcpy(out, to, n_to);
        out += n_to;
        at = found + n_from;
    }
    memmove(out, at, (size_t)(end - at));
    return (uint32_t)(out + (end - at) - text);
}

void leat_pieces_clean_up(struct leat_pieces *pieces) {
    uint32_t n = pieces->text.n_bytes - pieces->start;

    for (size_t i = 0; n && i < sizeof(clean_ups) / sizeof(*clean_ups); i++)
        n = shrink(pieces->text.bytes + pieces->start, n, clean_ups[i].from, clean_ups[i].to);
    pieces->text.n_bytes = pieces->start + n;
}
