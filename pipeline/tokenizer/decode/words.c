/* words.c: decoders that work on words and their parts: WordPiece, BPEDecoder, CTC, Metaspace. */
#include <errno.h>

#include "pipeline/tokenizer/decode/substitute.h"

static const struct leat_string blank = {(uint8_t[]){' '}, 1}, nothing = {(uint8_t[]){0}, 0};

/* ---- WordPiece: a blank before each token but the first, unless it begins with the prefix */

static int read_wordpiece(const struct leat_component *component, struct leat_decode_step *step,
                          struct leat_error *err) {
    int r = leat_decode_read_string(component, "prefix", &step->text, err);

    return r < 0 ? r : leat_component_bool(component, "cleanup", -1, &step->cleans_up, err);
}

static bool has_prefix(const struct leat_decoder_token *token, const struct leat_string *prefix) {
    return token->n_bytes >= prefix->n_bytes &&
           memcmp(token->bytes, prefix->bytes, prefix->n_bytes) == 0;
}

static int run_wordpiece(const struct leat_decode_step *step,
                         const struct leat_decoder_token *tokens, size_t n_tokens,
                         struct leat_pieces *out, struct leat_error *err) {
    int r = 0;

    (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        uint32_t n_prefix = i && has_prefix(&tokens[i], &step->text) ? step->text.n_bytes : 0;
        bool has_blank = i && !has_prefix(&tokens[i], &step->text);
        r = leat_pieces_put(out, " ", has_blank);
        if (r == 0)
            r = leat_pieces_put(out, tokens[i].bytes + n_prefix, tokens[i].n_bytes - n_prefix);
        if (r == 0 && step->cleans_up)
            leat_clean_up(out);
        if (r == 0)
            r = leat_pieces_end(out);
    }
    return r;
}

const struct leat_decode_ops leat_decode_wordpiece = {"WordPiece", read_wordpiece, run_wordpiece,
                                                      false};

/* ---- BPEDecoder: the suffix of words becomes a blank, that of the last token nothing */

static int read_bpe(const struct leat_component *component, struct leat_decode_step *step,
                    struct leat_error *err) {
    return leat_decode_read_string(component, "suffix", &step->text, err);
}

static int run_bpe(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                   size_t n_tokens, struct leat_pieces *out, struct leat_error *err) {
    int r = 0;

    (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        r = leat_substitute(&tokens[i], &step->text, i + 1 < n_tokens ? &blank : &nothing, out);
        if (r == 0)
            r = leat_pieces_end(out);
    }
    return r;
}

const struct leat_decode_ops leat_decode_bpe = {"BPEDecoder", read_bpe, run_bpe, true};

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
        return leat_substitute(token, &step->text, &nothing, out);
    leat_pieces_clear(scratch);
    r = leat_substitute(token, &step->text, &nothing, scratch);
    if (r < 0)
        return r;
    leat_clean_up(scratch);
    r = leat_pieces_end(scratch);
    return r < 0 ? r : leat_substitute(leat_pieces_view(scratch), &step->content, &blank, out);
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

const struct leat_decode_ops leat_decode_ctc = {"CTC", read_ctc, run_ctc, true};

/* ---- Metaspace: the replacement becomes a blank, and in the first token nothing */

static int read_metaspace(const struct leat_component *component, struct leat_decode_step *step,
                          struct leat_error *err) {
    static const char *const schemes[] = {"always", "first", "never", NULL};
    bool adds_prefix = true, splits;
    int scheme, r;

    r = leat_decode_read_character(component, "replacement", &step->text, err);
    if (r == 0)
        r = leat_component_choice(component, "prepend_scheme", schemes, 0, &scheme, err);
    if (r == 0)
        r = leat_component_bool(component, "split", true, &splits, err);
    if (r == 0)
        r = leat_component_bool(component, "add_prefix_space", true, &adds_prefix, err);
    if (r < 0)
        return r;
    step->keeps_first = scheme == 2;
    if (!adds_prefix && scheme != 2)
        return leat_component_error(component, err,
                                    "add_prefix_space is false, but prepend_scheme is \"%s\"; it "
                                    "must be \"never\"",
                                    schemes[scheme]);
    return 0;
}

static int run_metaspace(const struct leat_decode_step *step,
                         const struct leat_decoder_token *tokens, size_t n_tokens,
                         struct leat_pieces *out, struct leat_error *err) {
    int r = 0;

    (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        r = leat_substitute(&tokens[i], &step->text, i || step->keeps_first ? &blank : &nothing,
                            out);
        if (r == 0)
            r = leat_pieces_end(out);
    }
    return r;
}

const struct leat_decode_ops leat_decode_metaspace = {"Metaspace", read_metaspace, run_metaspace,
                                                      false};
