/* words.c: decoders that work on words and their parts: WordPiece, BPEDecoder, CTC, Metaspace. */
#include "pipeline/tokenizer/decode/step.h"
#include "pipeline/tokenizer/metaspace.h"

static const struct leat_decoder_token blank = {(const uint8_t *)" ", 1};
static const struct leat_decoder_token nothing = {(const uint8_t *)"", 0};

/* ---- WordPiece: a blank before each token but the first, unless it begins with the prefix */

static int read_wordpiece(const struct leat_component *component, struct leat_decode_step *step,
                          struct leat_error *err) {
    int r = leat_decode_read_string(component, "prefix", &step->text, err);

    return r < 0 ? r : leat_component_bool(component, "cleanup", -1, &step->cleans_up, err);
}

static int put_wordpiece(const struct leat_decode_step *step,
                         const struct leat_decoder_token *tokens, size_t n_tokens, size_t i,
                         struct leat_pieces *out) {
    const struct leat_decoder_token *prefix = &step->text, *token = &tokens[i];
    bool has_prefix = token->n_bytes >= prefix->n_bytes &&
                      memcmp(token->bytes, prefix->bytes, prefix->n_bytes) == 0;
    uint32_t n_prefix = i && has_prefix ? prefix->n_bytes : 0;
    int r = leat_pieces_put(out, " ", i && !has_prefix);

    (void)n_tokens;
    if (r == 0)
        r = leat_pieces_put(out, token->bytes + n_prefix, token->n_bytes - n_prefix);
    if (r == 0 && step->cleans_up)
        leat_pieces_clean_up(out);
    return r;
}

const struct leat_decode_ops leat_decode_wordpiece = {
    .type = "WordPiece", .read = read_wordpiece, .put = put_wordpiece};

/* ---- BPEDecoder: the suffix of words becomes a blank, that of the last token nothing */

static int read_bpe(const struct leat_component *component, struct leat_decode_step *step,
                    struct leat_error *err) {
    return leat_decode_read_string(component, "suffix", &step->text, err);
}

static int put_bpe(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                   size_t n_tokens, size_t i, struct leat_pieces *out) {
    return leat_pieces_put_replaced(out, &tokens[i], &step->text,
                                    i + 1 < n_tokens ? &blank : &nothing);
}

const struct leat_decode_ops leat_decode_bpe = {
    .type = "BPEDecoder", .read = read_bpe, .put = put_bpe, .grows = true};

/* ---- CTC: of equal tokens in a row one counts, without padding; empty ones vanish */

static int read_ctc(const struct leat_component *component, struct leat_decode_step *step,
                    struct leat_error *err) {
    int r = leat_decode_read_string(component, "pad_token", &step->text, err);

    if (r == 0)
        r = leat_decode_read_string(component, "word_delimiter_token", &step->content, err);
    return r < 0 ? r : leat_component_bool(component, "cleanup", -1, &step->cleans_up, err);
}

static bool is_equal(const struct leat_decoder_token *a, const struct leat_decoder_token *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0;
}

static int put_ctc(const struct leat_decode_step *step, const struct leat_decoder_token *token,
                   struct leat_pieces *scratch, struct leat_pieces *out) {
    int r;

    if (!step->cleans_up)
        return leat_pieces_put_replaced(out, token, &step->text, &nothing);
    leat_pieces_clear(scratch);
    r = leat_pieces_put_replaced(scratch, token, &step->text, &nothing);
    if (r < 0)
        return r;
    leat_pieces_clean_up(scratch);
    r = leat_pieces_end(scratch);
    return r < 0 ? r
                 : leat_pieces_put_replaced(out, leat_pieces_view(scratch), &step->content, &blank);
}

static int run_ctc(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                   size_t n_tokens, struct leat_pieces *out, struct leat_error *err) {
    struct leat_pieces scratch = {.n = 0};
    int r = 0;

    (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        if (i && is_equal(&tokens[i], &tokens[i - 1]))
            continue;
        r = put_ctc(step, &tokens[i], &scratch, out);
        if (r == 0 && out->text.n_bytes > out->start)
            r = leat_pieces_end(out);
    }
    leat_pieces_deinit(&scratch);
    return r;
}

const struct leat_decode_ops leat_decode_ctc = {
    .type = "CTC", .read = read_ctc, .run = run_ctc, .grows = true};

/* ---- Metaspace: the replacement becomes a blank, and in the first token nothing */

static int read_metaspace(const struct leat_component *component, struct leat_decode_step *step,
                          struct leat_error *err) {
    struct leat_metaspace metaspace;
    int r = leat_metaspace_read(component, &metaspace, err);

    if (r < 0)
        return r;
    step->keeps_first = metaspace.scheme == LEAT_SCHEME_NEVER;
    return leat_decode_read_string(component, "replacement", &step->text, err);
}

static int put_metaspace(const struct leat_decode_step *step,
                         const struct leat_decoder_token *tokens, size_t n_tokens, size_t i,
                         struct leat_pieces *out) {
    (void)n_tokens;
    return leat_pieces_put_replaced(out, &tokens[i], &step->text,
                                    i || step->keeps_first ? &blank : &nothing);
}

const struct leat_decode_ops leat_decode_metaspace = {
    .type = "Metaspace", .read = read_metaspace, .put = put_metaspace};
