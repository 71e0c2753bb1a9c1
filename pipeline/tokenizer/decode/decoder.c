/* decoder.c: see decoder.h. A decoder is a list of steps, which hand lists of strings on; what the
 * last one gives is joined. A Sequence, even within another, is its steps one after the other. */
#include "pipeline/tokenizer/decode/decoder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/decode/step.h"
#include "pipeline/tokenizer/split/regex.h"

#define STEPS_MAX 64

struct leat_decoder {
    struct leat_decode_step steps[STEPS_MAX];
    size_t n_steps;
    bool is_none; /* tokens are joined by blanks */
    char description[256];
};

static const struct leat_decode_ops *const types[] = {
    &leat_decode_byte_level, &leat_decode_wordpiece, &leat_decode_metaspace,
    &leat_decode_bpe,        &leat_decode_ctc,       &leat_decode_replace,
    &leat_decode_fuse,       &leat_decode_strip,     &leat_decode_byte_fallback,
};

static int copy_string(const char *text, size_t n, struct leat_decoder_token *ret_string,
                       struct leat_error *err) {
    uint8_t *bytes = malloc(n + 1);

    if (!bytes)
        return leat_error_oom(err);
    memcpy(bytes, text, n + 1);
    *ret_string = (struct leat_decoder_token){bytes, (uint32_t)n};
    return 0;
}

int leat_decode_read_string(const struct leat_component *component, const char *key,
                            struct leat_decoder_token *ret_string, struct leat_error *err) {
    const char *text;
    size_t n;
    int r = leat_component_string(component, key, NULL, &text, &n, err);

    return r < 0 ? r : copy_string(text, n, ret_string, err);
}

int leat_decode_read_character(const struct leat_component *component, const char *key,
                               struct leat_decoder_token *ret_string, struct leat_error *err) {
    const char *text;
    size_t n;
    int r = leat_component_character(component, key, &text, &n, err);

    return r < 0 ? r : copy_string(text, n, ret_string, err);
}

static void describe(struct leat_decoder *decoder, const char *type) {
    size_t used = strlen(decoder->description);

    (void)snprintf(decoder->description + used, sizeof(decoder->description) - used, "%s%s",
                   used ? ", " : "", type);
}

static int read_decoder(const struct leat_component *component, struct leat_decoder *decoder,
                        struct leat_error *err);

static int read_sequence(const struct leat_component *component, struct leat_decoder *decoder,
                         struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component array, item;
    int r = leat_component_child(component, "decoders", LEAT_JSON_ARRAY, &array, err);

    if (r < 0)
        return r;
    leat_component_iterate(&array, &iterator);
    while (r == 0 && leat_component_next(&iterator, &item))
        r = read_decoder(&item, decoder, err);
    return r;
}

static int read_decoder(const struct leat_component *component, struct leat_decoder *decoder,
                        struct leat_error *err) {
    struct leat_decode_step *step;
    const char *type;
    int r = leat_component_type(component, &type, err);

    if (r < 0)
        return r;
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(component, decoder, err);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcmp(type, types[i]->type) != 0)
            continue;
        if (decoder->n_steps == STEPS_MAX)
            return leat_component_error(component, err, "has more than %d steps", STEPS_MAX);
        step = &decoder->steps[decoder->n_steps++];
        step->ops = types[i];
        describe(decoder, type);
        return step->ops->read ? step->ops->read(component, step, err) : 0;
    }
    return leat_component_error(
        component, err,
        "is \"%.64s\", but must be one of BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, "
        "Metaspace, Replace, Sequence, Strip, WordPiece",
        type);
}

int leat_decoder_new(const struct leat_component *component, struct leat_decoder **ret_decoder,
                     struct leat_error *err) {
    struct leat_decoder *decoder = calloc(1, sizeof(*decoder));
    int r = 0;

    if (!decoder)
        return leat_error_oom(err);
    decoder->is_none = !component;
    if (component)
        r = read_decoder(component, decoder, err);
    if (r < 0) {
        leat_decoder_free(decoder);
        return r;
    }
    if (!decoder->description[0])
        describe(decoder, "none");
    *ret_decoder = decoder;
    return 0;
}

struct leat_decoder *leat_decoder_free(struct leat_decoder *decoder) {
    if (!decoder)
        return NULL;
    for (size_t i = 0; i < decoder->n_steps; i++) {
        free((void *)decoder->steps[i].text.bytes);
        free((void *)decoder->steps[i].content.bytes);
        leat_regex_free(decoder->steps[i].regex);
    }
    free(decoder);
    return NULL;
}

const char *leat_decoder_describe(const struct leat_decoder *decoder) {
    return decoder->description;
}

static int join(const struct leat_decoder_token *tokens, size_t n_tokens, bool has_blanks,
                struct leat_text_buffer *text) {
    size_t n_bytes = 0;
    int r;

    for (size_t i = 0; i < n_tokens; i++)
        n_bytes += (size_t)tokens[i].n_bytes + has_blanks;
    r = leat_text_buffer_reserve(text, n_bytes, false);
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        if (has_blanks && i)
            text->bytes[text->n_bytes++] = ' ';
        if (tokens[i].n_bytes)
            memcpy(text->bytes + text->n_bytes, tokens[i].bytes, tokens[i].n_bytes);
        text->n_bytes += tokens[i].n_bytes;
    }
    return r;
}

static int run_step(const struct leat_decode_step *step, const struct leat_decoder_token *tokens,
                    size_t n_tokens, struct leat_pieces *out, struct leat_error *err) {
    int r = 0;

    if (step->ops->run)
        return step->ops->run(step, tokens, n_tokens, out, err);
    for (size_t i = 0; i < n_tokens && r == 0; i++) {
        r = step->ops->put(step, tokens, n_tokens, i, out);
        if (r == 0)
            r = leat_pieces_end(out);
    }
    return r;
}

/* Refuses a result that would be too long before it takes memory. Only steps that replace strings
 * make tokens longer. */
static int check_length(const struct leat_decode_step *step,
                        const struct leat_decoder_token *tokens, size_t n_tokens,
                        struct leat_error *err) {
    struct leat_pieces counter = {.only_counts = true};
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < n_tokens; i++)
        n_bytes += tokens[i].n_bytes;
    if (n_bytes > LEAT_TEXT_BYTES_MAX)
        return -E2BIG;
    if (!step->ops->grows ||
        (n_bytes + n_tokens) * (2 + (uint64_t)step->content.n_bytes) <= LEAT_TEXT_BYTES_MAX)
        return 0;
    return run_step(step, tokens, n_tokens, &counter, err);
}

int leat_decoder_run(const struct leat_decoder *decoder, const struct leat_decoder_token *tokens,
                     size_t n_tokens, struct leat_text_buffer *text, struct leat_error *err) {
    struct leat_pieces lists[2] = {{.n = 0}, {.n = 0}};
    int r = 0;

    for (size_t i = 0; i < decoder->n_steps && r == 0; i++) {
        struct leat_pieces *out = &lists[i % 2];
        leat_pieces_clear(out);
        r = check_length(&decoder->steps[i], tokens, n_tokens, err);
        if (r == 0)
            r = run_step(&decoder->steps[i], tokens, n_tokens, out, err);
        tokens = leat_pieces_view(out);
        n_tokens = out->n;
    }
    if (r == 0)
        r = join(tokens, n_tokens, decoder->is_none, text);
    for (int i = 0; i < 2; i++)
        leat_pieces_deinit(&lists[i]);
    if (r == -E2BIG)
        return leat_error_set(err, r, "the text would be longer than %u bytes",
                              LEAT_TEXT_BYTES_MAX);
    return r == -ENOMEM ? leat_error_oom(err) : r;
}
