/* bpe.c: words through the cache to ids. See bpe.h for the parts.
 *
 * A word that a cut can be made in is first cut into parts (bpe_cut.h), each of which goes through
 * the cache as if it were a word. With dropout nothing is cached.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model/bpe.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define N_PARTS 512 /* that are handed to the cache at once */

static const struct leat_bpe *bpe_of(const struct leat_bpe_context *context) {
    return (const struct leat_bpe *)context->base.model;
}

static void free_tables(struct leat_model *model) {
    struct leat_bpe *bpe = (struct leat_bpe *)model;

    leat_bpe_pairs_deinit(&bpe->pairs);
    leat_bpe_joins_deinit(&bpe->joins);
    leat_bpe_characters_deinit(&bpe->characters);
    free(bpe->wide);
}

static int load(struct leat_model *model, const struct leat_component *component,
                struct leat_error *err) {
    struct leat_bpe *bpe = (struct leat_bpe *)model;
    int r = leat_bpe_load(bpe, component, err);

    model->has_chance = bpe->dropout > 0;
    model->n_bytes += leat_bpe_pairs_n_bytes(&bpe->pairs) + leat_bpe_joins_n_bytes(&bpe->joins) +
                      leat_bpe_characters_n_bytes(&bpe->characters) +
                      (bpe->wide ? LEAT_BPE_CHARACTERS_MAX * sizeof(*bpe->wide) : 0);
    (void)snprintf(model->algorithm, sizeof(model->algorithm),
                   "merges by rank, words cached%s%s%s%s",
                   bpe->ignore_merges ? "; whole words first (ignore_merges)" : "",
                   bpe->can_cut ? "; long words cut where no merge joins the characters" : "",
                   bpe->byte_fallback ? "; unknown characters as bytes" : "",
                   bpe->dropout > 0 ? "; dropout, so no cache" : "");
    return r;
}

static void context_deinit(struct leat_model_context *context) {
    leat_bpe_scratch_deinit(&((struct leat_bpe_context *)context)->scratch);
}

/* True if the word is a token before any merging; then it is in scratch. */
static bool is_whole(struct leat_bpe_context *context, const uint8_t *word, uint32_t n_bytes) {
    const struct leat_bpe *bpe = bpe_of(context);
    int32_t id;

    if (!bpe->ignore_merges || bpe->dropout > 0)
        return false;
    id = leat_bpe_find_word(bpe, &context->scratch, word, n_bytes);
    if (id < 0 || leat_bpe_scratch_reserve(&context->scratch, 1) < 0)
        return false;
    context->scratch.symbols[0] = (struct leat_bpe_symbol){.id = id, .n_bytes = n_bytes};
    return true;
}

/* The symbols that merging leaves, in scratch; or a negative errno. */
static int64_t merge_part(struct leat_bpe_context *context, const uint8_t *word, uint32_t n_bytes,
                          struct leat_error *err) {
    uint32_t n_symbols;
    int64_t n;
    int r =
        leat_bpe_make_symbols(bpe_of(context), &context->scratch, word, n_bytes, &n_symbols, err);

    if (r < 0)
        return r;
    n = leat_bpe_merge(bpe_of(context), &context->scratch, &context->base.random, n_symbols);
    return n < 0 ? leat_error_oom(err) : n;
}

static int append_part(struct leat_bpe_context *context, const uint8_t *word, uint32_t n_bytes,
                       int32_t *ids, size_t *n_ids, struct leat_error *err) {
    int64_t n = merge_part(context, word, n_bytes, err);

    if (n < 0)
        return (int)n;
    for (int64_t i = 0; i < n; i++)
        ids[*n_ids + (size_t)i] = context->scratch.symbols[i].id;
    *n_ids += (size_t)n;
    return 0;
}

/* A part through the cache; with ignore_merges a word that reads the same may have other ids. */
static int append_cached_part(struct leat_bpe_context *context, const uint8_t *word,
                              uint32_t n_bytes, int32_t *ids, size_t *n_ids,
                              struct leat_error *err) {
    struct leat_word_key key;
    size_t n_before = *n_ids;
    int found, r;

    if (n_bytes > LEAT_WORD_CACHE_SHORT_MAX)
        return append_part(context, word, n_bytes, ids, n_ids, err);
    key = bpe_of(context)->ignore_merges ? leat_word_part_key(word, n_bytes)
                                         : leat_word_key(word, n_bytes);
    found = leat_word_cache_find(&context->base.cache, &key, ids + n_before);
    if (found >= 0) {
        *n_ids += (size_t)found;
        return 0;
    }
    r = append_part(context, word, n_bytes, ids, n_ids, err);
    if (r == 0)
        leat_word_cache_add(&context->base.cache, &key, ids + n_before, *n_ids - n_before);
    return r;
}

/* A long word of a byte-level model, a part at a time. */
static int encode_long_word(struct leat_bpe_context *context, const uint8_t *word, uint32_t n_bytes,
                            int32_t *ids, size_t *n_ids, struct leat_error *err) {
    int r = 0;

    for (uint32_t at = 0, end; r == 0 && at < n_bytes; at = end) {
        end = leat_bpe_joins_next_cut(&bpe_of(context)->joins, word, at, n_bytes);
        r = append_cached_part(context, word + at, end - at, ids, n_ids, err);
    }
    return r;
}

static int encode_word(void *userdata, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    struct leat_bpe_context *context = userdata;

    *ret_n_ids = 0;
    if (is_whole(context, word, n_bytes)) {
        ids[(*ret_n_ids)++] = context->scratch.symbols[0].id;
        return 0;
    }
    if (bpe_of(context)->can_cut_bytes && n_bytes > LEAT_WORD_CACHE_SHORT_MAX)
        return encode_long_word(context, word, n_bytes, ids, ret_n_ids, err);
    return append_part(context, word, n_bytes, ids, ret_n_ids, err);
}

static bool is_known(const struct leat_bpe *bpe, uint32_t code, const uint8_t *character,
                     uint32_t n_bytes) {
    if (code < LEAT_BPE_CHARACTERS_MAX)
        return bpe->wide[code] >= 0;
    return leat_token_table_find(&bpe->base.tokens, character, n_bytes) >= 0;
}

/* Cuts a word, from `at` on, into at most N_PARTS parts; returns where it stopped. */
static uint32_t cut(const struct leat_bpe *bpe, const uint8_t *bytes, uint32_t at, uint32_t end,
                    struct leat_range *parts, size_t *ret_n_parts) {
    uint32_t start = at, n, previous = at, left = leat_unicode_decode(bytes + at, &n);
    size_t n_parts = 0;

    for (at += n; at < end && n_parts + 1 < N_PARTS; at += n) {
        uint32_t right = bytes[at];

        while ((left | right) < 128 && leat_bpe_joins_has(&bpe->joins, left, right)) {
            previous = at;
            left = right;
            if (++at >= end)
                break;
            right = bytes[at];
        }
        if (at >= end)
            break;
        n = 1;
        if (right >= 128)
            right = leat_unicode_decode(bytes + at, &n);
        if (!leat_bpe_joins_has(&bpe->joins, left, right) &&
            is_known(bpe, left, bytes + previous, at - previous) &&
            is_known(bpe, right, bytes + at, n)) {
            parts[n_parts++] = (struct leat_range){.start = start, .end = at};
            start = at;
        }
        left = right;
        previous = at;
    }
    if (at >= end) {
        parts[n_parts++] = (struct leat_range){.start = start, .end = end};
        start = end;
    }
    *ret_n_parts = n_parts;
    return start;
}

static int encode_parts(struct leat_bpe_context *context, const struct leat_text_view *text,
                        struct leat_range word, int32_t *ids, size_t *ret_n_ids,
                        struct leat_error *err) {
    struct leat_range parts[N_PARTS];
    size_t n_parts, n_ids;
    int r = 0;

    *ret_n_ids = 0;
    n_ids = 0;
    for (uint32_t at = word.start; r == 0 && at < word.end;) {
        at = cut(bpe_of(context), text->bytes, at, word.end, parts, &n_parts);
        r = leat_word_cache_encode(&context->base.cache, text, parts, n_parts, encode_word, context,
                                   ids + *ret_n_ids, &n_ids, err);
        *ret_n_ids += n_ids;
    }
    return r;
}

static int encode_uncached(struct leat_bpe_context *context, const struct leat_text_view *text,
                           const struct leat_range *words, size_t n_words, int32_t *ids,
                           size_t *ret_n_ids, struct leat_error *err) {
    int r = 0;

    *ret_n_ids = 0;
    for (size_t i = 0; r == 0 && i < n_words; i++) {
        r = append_part(context, text->bytes + words[i].start, words[i].end - words[i].start, ids,
                        ret_n_ids, err);
    }
    return r;
}

static int encode(struct leat_model_context *base, const struct leat_text_view *text,
                  const struct leat_range *words, size_t n_words, int32_t *ids, size_t *ret_n_ids,
                  struct leat_error *err) {
    struct leat_bpe_context *context = (struct leat_bpe_context *)base;
    const struct leat_bpe *bpe = bpe_of(context);
    size_t n_ids = 0;
    int r = 0;

    if (bpe->dropout > 0)
        return encode_uncached(context, text, words, n_words, ids, ret_n_ids, err);
    if (!bpe->can_cut)
        return leat_word_cache_encode(&base->cache, text, words, n_words, encode_word, context, ids,
                                      ret_n_ids, err);
    *ret_n_ids = 0;
    for (size_t i = 0; r == 0 && i < n_words; i++) {
        r = encode_parts(context, text, words[i], ids + *ret_n_ids, &n_ids, err);
        *ret_n_ids += n_ids;
    }
    return r;
}

static int encode_tokens(struct leat_model_context *base, const struct leat_text_view *text,
                         struct leat_range word, struct leat_token *tokens, size_t *ret_n_tokens,
                         struct leat_error *err) {
    struct leat_bpe_context *context = (struct leat_bpe_context *)base;
    const uint8_t *bytes = text->bytes + word.start;
    uint32_t n_bytes = word.end - word.start, at = word.start;
    int64_t n = is_whole(context, bytes, n_bytes) ? 1 : merge_part(context, bytes, n_bytes, err);

    if (n < 0)
        return (int)n;
    for (int64_t i = 0; i < n; i++) {
        const struct leat_bpe_symbol *symbol = &context->scratch.symbols[i];

        tokens[i] = (struct leat_token){.id = symbol->id,
                                        .range = {.start = at, .end = at + symbol->n_bytes}};
        at += symbol->n_bytes;
    }
    *ret_n_tokens = (size_t)n;
    return 0;
}

const struct leat_model_ops leat_model_bpe = {
    .name = "BPE",
    .model_bytes = sizeof(struct leat_bpe),
    .context_bytes = sizeof(struct leat_bpe_context),
    .load = load,
    .free = free_tables,
    .context_deinit = context_deinit,
    .encode_word = encode_word,
    .encode = encode,
    .encode_tokens = encode_tokens,
};
