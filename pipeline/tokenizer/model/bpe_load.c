/* bpe_load.c: the node `model` of a BPE tokenizer to tables: all that can be wrong is found here.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model/bpe.h"
#include "pipeline/tokenizer/model/bpe_load.h"
#include "pipeline/tokenizer/token_text.h"
#include "pipeline/tokenizer/utf8.h"

static int read_affix(const struct leat_component *component, const char *key, char *ret_affix,
                      uint32_t *ret_n, struct leat_error *err) {
    struct leat_component child;
    const char *text;
    size_t n;
    int r = leat_component_string(component, key, "", &text, &n, err);

    if (r < 0)
        return r;
    if (n > LEAT_BPE_AFFIX_MAX && leat_component_get(component, key, &child))
        return leat_component_error(&child, err, "%zu bytes long, at most %d are possible", n,
                                    LEAT_BPE_AFFIX_MAX);
    memcpy(ret_affix, text, n);
    *ret_n = (uint32_t)n;
    return 0;
}

static int read_unk(struct leat_bpe *bpe, const struct leat_component *component,
                    struct leat_error *err) {
    struct leat_component child;
    const char *text;
    size_t n;
    int r;

    bpe->unk_id = -1;
    if (!leat_component_get(component, "unk_token", &child))
        return 0;
    r = leat_component_string(component, "unk_token", NULL, &text, &n, err);
    if (r < 0)
        return r;
    bpe->has_unk = true;
    bpe->unk_id = leat_token_table_find(&bpe->model.tokens, text, n);
    memcpy(bpe->unk_token, text, n < sizeof(bpe->unk_token) ? n : sizeof(bpe->unk_token) - 1);
    return 0;
}

static int read_dropout(struct leat_bpe *bpe, const struct leat_component *component,
                        struct leat_error *err) {
    struct leat_component child;
    enum leat_json_kind kind;

    if (!leat_component_get(component, "dropout", &child))
        return 0;
    kind = leat_json_kind(child.node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_DOUBLE)
        return leat_component_error(&child, err, "%s, but it must be a number in 0..1",
                                    leat_json_kind_name(kind));
    bpe->dropout = leat_json_double(child.node);
    if (!(bpe->dropout >= 0 && bpe->dropout <= 1))
        return leat_component_error(&child, err, "%g is outside 0..1", bpe->dropout);
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

/* Ids of single bytes: of characters that need no search, and of <0xNN>. */
static void index_bytes(struct leat_bpe *bpe) {
    const struct leat_token_table *tokens = &bpe->model.tokens;
    static const char digits[] = "0123456789ABCDEF";

    for (uint32_t i = 0; i < 256; i++) {
        char code[6] = {'<', '0', 'x', digits[i >> 4], digits[i & 15], '>'};
        uint8_t mapped[2], byte = (uint8_t)i;

        bpe->bytes[i] = leat_token_table_find(tokens, code, sizeof(code));
        bpe->single[i] = -1;
        if (bpe->is_byte_level)
            bpe->single[i] = leat_token_table_find(tokens, mapped, leat_bpe_map_byte(byte, mapped));
        else if (i < 128)
            bpe->single[i] = leat_token_table_find(tokens, &byte, 1);
    }
    for (uint32_t i = 0; i < tokens->n_tokens; i++)
        if (tokens->texts[i].n_bytes > bpe->n_longest)
            bpe->n_longest = tokens->texts[i].n_bytes;
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
        return leat_component_error(component, err,
                                    "byte_fallback together with continuing_subword_prefix or "
                                    "end_of_word_suffix is not supported");
    if (bpe->is_byte_level && !bpe->has_all_bytes)
        return leat_component_error(component, err,
                                    "byte_fallback with a ByteLevel pre-tokenizer is supported "
                                    "only if the vocabulary has all 256 characters of its "
                                    "alphabet");
    bpe->byte_fallback = !bpe->is_byte_level;
    return 0;
}

int leat_bpe_load(struct leat_bpe *bpe, const struct leat_component *component,
                  struct leat_error *err) {
    struct leat_component vocab;
    int r = leat_component_child(component, "vocab", LEAT_JSON_OBJECT, &vocab, err);

    if (r == 0)
        r = read_flags(bpe, component, err);
    if (r == 0)
        r = leat_model_read_vocab(&vocab, &bpe->model.tokens, err);
    if (r == 0)
        r = read_unk(bpe, component, err);
    if (r < 0)
        return r;
    leat_token_table_shrink(&bpe->model.tokens);
    index_bytes(bpe);
    bpe->has_all_bytes = bpe->is_byte_level && !bpe->n_prefix && !bpe->n_suffix;
    for (uint32_t i = 0; i < 256; i++)
        if (occurs_in_utf8(i))
            bpe->has_all_bytes = bpe->has_all_bytes && bpe->single[i] >= 0;
    bpe->can_cut = !bpe->is_byte_level && !bpe->n_prefix && !bpe->n_suffix && bpe->dropout == 0 &&
                   !bpe->ignore_merges;
    bpe->can_cut_bytes = bpe->has_all_bytes && bpe->dropout == 0;
    bpe->knows_marker = leat_token_table_find(&bpe->model.tokens, "\xe2\x96\x81", 3) >= 0;
    r = check_fallback(bpe, component, err);
    return r < 0 ? r : leat_bpe_read_merges(bpe, component, err);
}
