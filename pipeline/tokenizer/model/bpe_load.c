/* bpe_load.c: the node `model` of a BPE tokenizer to tables: all that can be wrong is found here.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/bpe.h"
#include "proto/base/utf8.h"

static int read_affix(const struct leat_component *component, const char *key, char *ret_affix,
                      uint32_t *ret_n, struct leat_error *err) {
    struct leat_component child;
    const char *text;
    size_t n;
    int r = leat_component_string(component, key, "", &text, &n, err);

    if (r < 0)
        return r;
    if (n > LEAT_BPE_AFFIX_MAX && leat_component_get(component, key, &child))
        return leat_component_error(&child, err, "has %zu bytes; at most %d are possible", n,
                                    LEAT_BPE_AFFIX_MAX);
    memcpy(ret_affix, text, n);
    *ret_n = (uint32_t)n;
    return 0;
}

static int read_unk(struct leat_bpe *bpe, const struct leat_component *component,
                    struct leat_error *err) {
    struct leat_component child;

    bpe->unk_id = -1;
    bpe->has_unk = leat_component_get(component, "unk_token", &child);
    return bpe->has_unk
               ? leat_model_read_unknown(&bpe->base, component, &bpe->unk_id, bpe->unk_token, err)
               : 0;
}

static int read_dropout(struct leat_bpe *bpe, const struct leat_component *component,
                        struct leat_error *err) {
    struct leat_component child;
    enum leat_json_kind kind;

    if (!leat_component_get(component, "dropout", &child))
        return 0;
    kind = leat_json_kind(child.node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_DOUBLE)
        return leat_component_error(&child, err, "is %s, but must be a number in 0..1",
                                    leat_json_kind_name(kind));
    bpe->dropout = leat_json_double(child.node);
    if (!(bpe->dropout >= 0 && bpe->dropout <= 1))
        return leat_component_error(&child, err, "is %g, which is outside 0..1", bpe->dropout);
    return 0;
}

static int read_flags(struct leat_bpe *bpe, const struct leat_component *component,
                      struct leat_error *err) {
    int r = leat_component_bool(component, "fuse_unk", 0, &bpe->fuse_unk, err);

    if (r == 0)
        r = leat_component_bool(component, "byte_fallback", 0, &bpe->byte_fallback, err);
    if (r == 0)
        r = leat_component_bool(component, "ignore_merges", 0, &bpe->ignore_merges, err);
    if (r == 0)
        r = read_dropout(bpe, component, err);
    if (r == 0)
        r = read_affix(component, "continuing_subword_prefix", bpe->prefix, &bpe->n_prefix, err);
    if (r == 0)
        r = read_affix(component, "end_of_word_suffix", bpe->suffix, &bpe->n_suffix, err);
    return r;
}

/* Ids of characters that need no search. 0 or -ENOMEM. */
static int index_characters(struct leat_bpe *bpe) {
    const struct leat_token_table *tokens = &bpe->base.tokens;

    bpe->wide = malloc(LEAT_BPE_CHARACTERS_MAX * sizeof(*bpe->wide));
    if (!bpe->wide)
        return -ENOMEM;
    memset(bpe->wide, 0xff, LEAT_BPE_CHARACTERS_MAX * sizeof(*bpe->wide));
    for (uint32_t i = 0; i < tokens->n_tokens; i++) {
        const uint8_t *text = tokens->pool + tokens->texts[i].start;
        uint32_t n = tokens->texts[i].n_bytes, code;

        if (n == 0 || n > 3 || leat_utf8_character(text, n) != n)
            continue;
        code = leat_utf8_code_point(text, n);
        bpe->wide[code] = leat_token_table_find(tokens, text, n);
    }
    return 0;
}

/* Ids of bytes, and of <0xNN>. */
static void index_bytes(struct leat_bpe *bpe) {
    const struct leat_token_table *tokens = &bpe->base.tokens;

    leat_model_find_bytes(&bpe->base, bpe->bytes);
    for (uint32_t i = 0; i < 256; i++) {
        uint8_t byte = (uint8_t)i;

        bpe->single[i] = -1;
        bpe->n_mapped[i] = (uint8_t)leat_byte_level_map(byte, bpe->mapped[i]);
        if (bpe->base.is_byte_level)
            bpe->single[i] = leat_token_table_find(tokens, bpe->mapped[i], bpe->n_mapped[i]);
        else if (i < 128)
            bpe->single[i] = leat_token_table_find(tokens, &byte, 1);
    }
}

/* Of a byte-level model the characters of a token are the bytes of a word. */
static void measure_token(struct leat_bpe *bpe, const uint8_t *token, uint32_t n_bytes) {
    int first = n_bytes ? token[0] : -1;
    uint32_t n = n_bytes;

    if (bpe->base.is_byte_level && n_bytes) {
        first = leat_byte_level_unmap(leat_utf8_code_point(token, n_bytes));
        for (uint32_t i = 0; i < n_bytes; i++)
            n -= (token[i] & 0xc0) == 0x80;
    }
    if (first >= 0 && n > bpe->longest[first])
        bpe->longest[first] = n;
}

static void measure_tokens(struct leat_bpe *bpe) {
    const struct leat_token_table *tokens = &bpe->base.tokens;

    for (uint32_t i = 0; i < tokens->n_tokens; i++)
        measure_token(bpe, tokens->pool + tokens->texts[i].start, tokens->texts[i].n_bytes);
}

static bool occurs_in_utf8(uint32_t byte) {
    return byte < 0xc0 || (byte > 0xc1 && byte < 0xf5);
}

/* A byte may only become as many tokens as it has bytes. */
static int check_fallback(struct leat_bpe *bpe, const struct leat_component *component,
                          struct leat_error *err) {
    if (!bpe->byte_fallback)
        return 0;
    if (bpe->n_prefix || bpe->n_suffix)
        return leat_component_error(
            component, err,
            "byte_fallback does not work with continuing_subword_prefix or end_of_word_suffix");
    if (bpe->base.is_byte_level && !bpe->has_all_bytes)
        return leat_component_error(component, err,
                                    "byte_fallback works with a ByteLevel pre-tokenizer only if "
                                    "the vocabulary has all 256 characters of the ByteLevel "
                                    "alphabet");
    bpe->byte_fallback = !bpe->base.is_byte_level;
    return 0;
}

int leat_bpe_load(struct leat_bpe *bpe, const struct leat_component *component,
                  struct leat_error *err) {
    int r = read_flags(bpe, component, err);

    if (r == 0)
        r = leat_model_read_vocab(&bpe->base, component, err);
    if (r == 0)
        r = read_unk(bpe, component, err);
    if (r < 0)
        return r;
    index_bytes(bpe);
    if (!bpe->base.is_byte_level && index_characters(bpe) < 0)
        return leat_error_oom(err);
    if (bpe->ignore_merges)
        measure_tokens(bpe);
    bpe->has_all_bytes = bpe->base.is_byte_level && !bpe->n_prefix && !bpe->n_suffix;
    for (uint32_t i = 0; i < 256; i++)
        if (occurs_in_utf8(i))
            bpe->has_all_bytes = bpe->has_all_bytes && bpe->single[i] >= 0;
    bpe->can_cut = !bpe->base.is_byte_level && !bpe->n_prefix && !bpe->n_suffix &&
                   bpe->dropout == 0 && !bpe->ignore_merges;
    bpe->can_cut_bytes = bpe->has_all_bytes && bpe->dropout == 0;
    r = check_fallback(bpe, component, err);
    return r < 0 ? r : leat_bpe_read_merges(bpe, component, err);
}
