/* substitute.c: see substitute.h. */
#include "pipeline/tokenizer/decode/substitute.h"

#include "pipeline/tokenizer/utf8.h"

static int substitute_nothing(const struct leat_decoder_token *text, const struct leat_string *to,
                              struct leat_pieces *out) {
    int r = leat_pieces_put(out, to->bytes, to->n_bytes);

    for (uint32_t at = 0; at < text->n_bytes && r == 0;) {
        uint32_t n = leat_utf8_length(text->bytes + at, text->n_bytes - at);
        r = leat_pieces_put(out, text->bytes + at, n);
        if (r == 0)
            r = leat_pieces_put(out, to->bytes, to->n_bytes);
        at += n;
    }
    return r;
}

int leat_substitute(const struct leat_decoder_token *text, const struct leat_string *from,
                    const struct leat_string *to, struct leat_pieces *out) {
    const uint8_t *at = text->bytes, *end = at + text->n_bytes, *found;
    int r = 0;

    if (!from->n_bytes)
        return substitute_nothing(text, to, out);
    while (r == 0 && (found = memmem(at, (size_t)(end - at), from->bytes, from->n_bytes))) {
        r = leat_pieces_put(out, at, (size_t)(found - at));
        if (r == 0)
            r = leat_pieces_put(out, to->bytes, to->n_bytes);
        at = found + from->n_bytes;
    }
    return r < 0 ? r : leat_pieces_put(out, at, (size_t)(end - at));
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

void leat_clean_up(struct leat_pieces *pieces) {
    uint32_t n = pieces->text.n_bytes - pieces->start;

    for (size_t i = 0; n && i < sizeof(clean_ups) / sizeof(*clean_ups); i++)
        n = shrink(pieces->text.bytes + pieces->start, n, clean_ups[i].from, clean_ups[i].to);
    pieces->text.n_bytes = pieces->start + n;
}
