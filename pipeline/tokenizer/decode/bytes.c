/* bytes.c: decoders that make bytes of tokens: ByteLevel and ByteFallback. */

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/decode/step.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

/* ---- ByteLevel: characters of GPT-2's alphabet stand for bytes */

/* A token with any other character in it stands for itself. */
static int put_token(const struct leat_decoder_token *token, struct leat_pieces *out) {
    uint32_t start = out->text.n_bytes;
    int r = leat_text_buffer_reserve(&out->text, token->n_bytes, false);

    if (r < 0)
        return r;
    for (uint32_t at = 0; at < token->n_bytes;) {
        size_t left = token->n_bytes - at;
        int byte = leat_byte_level_unmap(leat_utf8_code_point(token->bytes + at, left));
        if (byte < 0) {
            out->text.n_bytes = start;
            return leat_pieces_put(out, token->bytes, token->n_bytes);
        }
        out->text.bytes[out->text.n_bytes++] = (uint8_t)byte;
        at += leat_utf8_length(token->bytes + at, left);
    }
    return 0;
}

static int run_byte_level(const struct leat_decode_step *step,
                          const struct leat_decoder_token *tokens, size_t n_tokens,
                          struct leat_pieces *out, struct leat_error *err) {
    struct leat_pieces raw = {.n = 0};
    int r = 0;

    (void)step, (void)err;
    for (size_t i = 0; i < n_tokens && r == 0; i++)
        r = put_token(&tokens[i], &raw);
    if (r == 0)
        r = leat_pieces_put_lossy(out, raw.text.bytes, raw.text.n_bytes);
    if (r == 0)
        r = leat_pieces_end(out);
    leat_pieces_deinit(&raw);
    return r;
}

static int read_byte_level(const struct leat_component *component, struct leat_decode_step *step,
                           struct leat_error *err) {
    bool value;
    int r;

    (void)step;
    r = leat_component_bool(component, "add_prefix_space", -1, &value, err);
    return r < 0 ? r : leat_component_bool(component, "trim_offsets", -1, &value, err);
}

const struct leat_decode_ops leat_decode_byte_level = {
    .type = "ByteLevel", .read = read_byte_level, .run = run_byte_level};

/* ---- ByteFallback: "<0x61>" stands for a byte */

/* The byte, or -1. Rust reads a plus sign as part of a number. */
static int fallback_byte(const struct leat_decoder_token *token) {
    const uint8_t *text = token->bytes;
    int high, low;

    if (token->n_bytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    high = text[3] == '+' ? 0 : leat_hex_digit(text[3]);
    low = leat_hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Bytes in a row are one piece if they are valid UTF-8, else each is one U+FFFD. */
static int put_row(const uint8_t *row, uint32_t n, struct leat_pieces *out) {
    int r = 0;

    if (n == 0)
        return 0;
    if (leat_utf8_is_valid(row, n))
        return leat_pieces_add(out, row, n);
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = leat_pieces_add(out, LEAT_REPLACEMENT_CHARACTER, 3);
    return r;
}

static int put_bytes(const struct leat_decoder_token *tokens, size_t n_tokens,
                     struct leat_pieces *row, struct leat_pieces *out) {
    int r = 0;

    for (size_t i = 0; i <= n_tokens && r == 0; i++) {
        int byte = i < n_tokens ? fallback_byte(&tokens[i]) : -1;
        if (byte >= 0) {
            r = leat_pieces_put(row, &(uint8_t){(uint8_t)byte}, 1);
            continue;
        }
        r = put_row(row->text.bytes, row->text.n_bytes, out);
        leat_pieces_clear(row);
        if (r == 0 && i < n_tokens)
            r = leat_pieces_add(out, tokens[i].bytes, tokens[i].n_bytes);
    }
    return r;
}

static int run_byte_fallback(const struct leat_decode_step *step,
                             const struct leat_decoder_token *tokens, size_t n_tokens,
                             struct leat_pieces *out, struct leat_error *err) {
    struct leat_pieces row = {.n = 0};
    int r = put_bytes(tokens, n_tokens, &row, out);

    (void)step, (void)err;
    leat_pieces_deinit(&row);
    return r;
}

const struct leat_decode_ops leat_decode_byte_fallback = {.type = "ByteFallback",
                                                          .run = run_byte_fallback};
