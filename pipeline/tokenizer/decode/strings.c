/* strings.c: decoders that work on plain strings: Replace, Fuse, Strip. */
#include <stdlib.h>

#include "pipeline/tokenizer/decode/step.h"
#include "pipeline/tokenizer/split/regex.h"

/* ---- Replace: of a string or the matches of a regex, in each token for itself */

static int read_regex(const struct leat_component *pattern, struct leat_decode_step *step,
                      struct leat_error *err) {
    struct leat_component regex;
    const char *text;
    size_t n;
    int r;

    if (!leat_component_get(pattern, "Regex", &regex))
        return leat_component_error(pattern, err, "must be {\"String\": ...} or {\"Regex\": ...}");
    r = leat_component_string(pattern, "Regex", NULL, &text, &n, err);
    if (r < 0)
        return r;
    r = leat_regex_new(text, n, &step->regex, err);
    return r < 0 ? leat_component_place(&regex, err) : 0;
}

static int read_replace(const struct leat_component *component, struct leat_decode_step *step,
                        struct leat_error *err) {
    struct leat_component pattern, string;
    int r = leat_decode_read_string(component, "content", &step->content, err);

    if (r == 0)
        r = leat_component_child(component, "pattern", LEAT_JSON_OBJECT, &pattern, err);
    if (r < 0)
        return r;
    if (leat_component_get(&pattern, "String", &string))
        return leat_decode_read_string(&pattern, "String", &step->text, err);
    return read_regex(&pattern, step, err);
}

static int replace_matches(const struct leat_decode_step *step,
                           const struct leat_decoder_token *token,
                           struct leat_regex_context *context, struct leat_pieces *out,
                           struct leat_error *err) {
    struct leat_regex_search search = {.text = token->bytes, .n_bytes = token->n_bytes};
    struct leat_range match;
    uint32_t at = 0;
    int r;

    while ((r = leat_regex_next(step->regex, context, &search, &match, err)) > 0) {
        r = leat_pieces_put(out, token->bytes + at, match.start - at);
        if (r == 0)
            r = leat_pieces_put(out, step->content.bytes, step->content.n_bytes);
        if (r < 0)
            return r;
        at = match.end;
    }
    return r < 0 ? r : leat_pieces_put(out, token->bytes + at, token->n_bytes - at);
}

static int run_replace(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                       size_t n_tokens, struct leat_pieces *out, struct leat_error *err) {
    struct leat_regex_context *context = NULL;
    int r = step->regex ? leat_regex_context_new(&context) : 0;

    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        if (tokens[i].n_bytes == 0) /* HF does not search empty tokens */
            r = 0;
        else if (step->regex)
            r = replace_matches(step, &tokens[i], context, out, err);
        else
            r = leat_pieces_put_replaced(out, &tokens[i], &step->text, &step->content);
        if (r == 0)
            r = leat_pieces_end(out);
    }
    leat_regex_context_free(context);
    return r;
}

const struct leat_decode_ops leat_decode_replace = {
    .type = "Replace", .read = read_replace, .run = run_replace, .grows = true};

/* ---- Fuse: all tokens become one */

static int run_fuse(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                    size_t n_tokens, struct leat_pieces *out, struct leat_error *err) {
    int r = 0;

    (void)step, (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++)
        r = leat_pieces_put(out, tokens[i].bytes, tokens[i].n_bytes);
    return r < 0 ? r : leat_pieces_end(out);
}

const struct leat_decode_ops leat_decode_fuse = {.type = "Fuse", .run = run_fuse};

/* ---- Strip: takes a character off both ends of each token, at most n times */

static int read_strip(const struct leat_component *component, struct leat_decode_step *step,
                      struct leat_error *err) {
    int r = leat_decode_read_character(component, "content", &step->text, err);

    if (r == 0)
        r = leat_component_uint(component, "start", -1, UINT64_MAX, &step->n_at_start, err);
    return r < 0 ? r : leat_component_uint(component, "stop", -1, UINT64_MAX, &step->n_at_end, err);
}

static bool is_at(const struct leat_decoder_token *token, uint32_t at,
                  const struct leat_decoder_token *character) {
    return memcmp(token->bytes + at, character->bytes, character->n_bytes) == 0;
}

static int put_strip(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                     size_t n_tokens, size_t i, struct leat_pieces *out) {
    uint32_t n = step->text.n_bytes, start = 0, end = tokens[i].n_bytes;

    (void)n_tokens;
    for (uint64_t k = 0;
         k < step->n_at_start && end - start >= n && is_at(&tokens[i], start, &step->text); k++)
        start += n;
    for (uint64_t k = 0;
         k < step->n_at_end && end - start >= n && is_at(&tokens[i], end - n, &step->text); k++)
        end -= n;
    return leat_pieces_put(out, tokens[i].bytes + start, end - start);
}

const struct leat_decode_ops leat_decode_strip = {
    .type = "Strip", .read = read_strip, .put = put_strip};
