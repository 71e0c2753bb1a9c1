/* wordpiece.c: WordPiece (BERT): the longest token that the word starts with, then the longest
 * continuing one, and so on. See model.h.
 *
 * A word that cannot be spelled out, or of more than max_input_chars_per_word characters, is one
 * unknown token; that this token exists is asked only then, as HF does. One trie holds all tokens;
 * a continuing token is looked for from where its prefix ("##") leads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model.h"
#include "pipeline/tokenizer/model/word_cache.h"
#include "pipeline/tokenizer/model/word_trie.h"
#include "pipeline/tokenizer/token_text.h"

struct wordpiece {
    struct leat_model base;
    struct leat_word_trie trie;
    uint32_t continuing;   /* base of the prefix, 0: no token continues */
    int64_t unknown;       /* id, or -1 */
    uint64_t max_chars;    /* of a word */
    bool is_byte_level;    /* a byte is a character */
    char unknown_text[64]; /* for errors */
};

struct wordpiece_context {
    const struct wordpiece *model;
    struct leat_word_cache cache;
};

static const struct wordpiece *of_model(const struct leat_model *model) {
    return (const struct wordpiece *)model;
}

static struct wordpiece_context *of_context(struct leat_model_context *context) {
    return (struct wordpiece_context *)context;
}

/* ---- encode */

static bool is_too_long(const struct wordpiece *model, const uint8_t *word, uint32_t n_bytes) {
    uint64_t n_chars = 0;

    if (n_bytes <= model->max_chars || model->is_byte_level)
        return n_bytes > model->max_chars;
    for (uint32_t i = 0; i < n_bytes; i++)
        n_chars += (word[i] & 0xc0) != 0x80;
    return n_chars > model->max_chars;
}

/* The longest token at the start of bytes; returns its length, 0 if there is none. */
static uint32_t match(const struct leat_word_trie *trie, uint32_t base, const uint8_t *bytes,
                      uint32_t n_bytes, int32_t *ret_id) {
    uint32_t n_match = 0, last = 0;

    for (uint32_t i = 0; i < n_bytes; i++) {
        uint32_t node = leat_word_trie_step(trie, base, bytes[i]);

        if (!node)
            break;
        base = trie->nodes[node].base;
        if (base & LEAT_WORD_TRIE_TAIL) {
            uint32_t n = leat_word_trie_tail(trie, base, bytes + i + 1, n_bytes - i - 1);

            n_match = n ? i + 1 + n : n_match;
            last = n ? node : last;
            break;
        }
        if (base & LEAT_WORD_TRIE_END) {
            base &= LEAT_WORD_TRIE_BASE;
            n_match = i + 1;
            last = node;
        }
    }
    *ret_id = (int32_t)trie->ids[last];
    return n_match;
}

/* Writes ids, or, if `tokens` is not NULL, tokens, with ranges from the start of the word. Returns
 * how many there are, 0 if the word cannot be spelled out. */
static inline size_t spell(const struct wordpiece *model, const uint8_t *word, uint32_t n_bytes,
                           int32_t *ids, struct leat_token *tokens) {
    uint32_t base = LEAT_WORD_TRIE_ROOT, at = 0;
    size_t n = 0;

    if (is_too_long(model, word, n_bytes))
        return 0;
    while (at < n_bytes) {
        int32_t id;
        uint32_t n_match = match(&model->trie, base, word + at, n_bytes - at, &id);

        if (n_match == 0)
            return 0;
        if (tokens)
            tokens[n++] = (struct leat_token){.id = id, .range = {at, at + n_match}};
        else
            ids[n++] = id;
        at += n_match;
        base = model->continuing;
    }
    return n;
}

static int no_unknown(const struct wordpiece *model, struct leat_error *err) {
    return leat_error_set(err, -EINVAL,
                          "the model cannot spell a word, and its unk_token \"%s\" is not in its "
                          "vocabulary",
                          model->unknown_text);
}

static int encode_word(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    const struct wordpiece *model = ((struct wordpiece_context *)context)->model;

    *ret_n_ids = spell(model, word, n_bytes, ids, NULL);
    if (*ret_n_ids || n_bytes == 0)
        return 0;
    if (model->unknown < 0)
        return no_unknown(model, err);
    ids[0] = (int32_t)model->unknown;
    *ret_n_ids = 1;
    return 0;
}

static int encode(const struct leat_model *model, struct leat_model_context *context,
                  const struct leat_text_view *text, const struct leat_range *words, size_t n_words,
                  int32_t *ids, size_t *ret_n_ids, struct leat_error *err) {
    (void)model;
    return leat_word_cache_encode(&of_context(context)->cache, text, words, n_words, encode_word,
                                  context, ids, ret_n_ids, err);
}

static int encode_tokens(const struct leat_model *base, struct leat_model_context *context,
                         const struct leat_text_view *text, struct leat_range word,
                         struct leat_token *tokens, size_t *ret_n_tokens, struct leat_error *err) {
    const struct wordpiece *model = of_model(base);
    uint32_t n_bytes = word.end - word.start;
    size_t n = spell(model, text->bytes + word.start, n_bytes, NULL, tokens);

    (void)context;
    if (n == 0 && n_bytes) {
        if (model->unknown < 0)
            return no_unknown(model, err);
        tokens[n++] = (struct leat_token){.id = (int32_t)model->unknown, .range = {0, n_bytes}};
    }
    for (size_t i = 0; i < n; i++) {
        tokens[i].range.start += word.start;
        tokens[i].range.end += word.start;
    }
    *ret_n_tokens = n;
    return 0;
}

static int context_new(const struct leat_model *model, struct leat_model_context **ret_context) {
    struct wordpiece_context *context = calloc(1, sizeof(*context));

    if (!context)
        return -ENOMEM;
    context->model = of_model(model);
    if (leat_word_cache_init(&context->cache) < 0) {
        free(context);
        return -ENOMEM;
    }
    *ret_context = (struct leat_model_context *)context;
    return 0;
}

static struct leat_model_context *context_free(struct leat_model_context *context) {
    if (context)
        leat_word_cache_deinit(&of_context(context)->cache);
    free(context);
    return NULL;
}

static void context_clear(struct leat_model_context *context) {
    leat_word_cache_clear(&of_context(context)->cache);
}

/* ---- load */

static struct leat_model *model_free(struct leat_model *base) {
    struct wordpiece *model = (struct wordpiece *)base;

    if (!model)
        return NULL;
    leat_token_table_deinit(&model->base.tokens);
    leat_word_trie_deinit(&model->trie);
    free(model);
    return NULL;
}

static int read_unknown(struct wordpiece *model, const struct leat_component *component,
                        struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];
    const char *text;
    size_t n;
    int r = leat_component_string(component, "unk_token", NULL, &text, &n, err);

    if (r < 0)
        return r;
    model->unknown = leat_token_table_find(&model->base.tokens, text, n);
    (void)snprintf(model->unknown_text, sizeof(model->unknown_text), "%s",
                   leat_token_text((const uint8_t *)text, n, shown));
    return 0;
}

/* The trie, and where the prefix leads to. In GPT-2's alphabet, a prefix of printable ASCII is the
 * same as raw bytes. */
static int build(struct wordpiece *model, const struct leat_component *component,
                 struct leat_error *err) {
    const char *prefix;
    size_t n;
    int r = leat_component_string(component, "continuing_subword_prefix", NULL, &prefix, &n, err);

    if (r < 0)
        return r;
    for (size_t i = 0; model->is_byte_level && i < n; i++)
        if (prefix[i] < 0x21 || prefix[i] > 0x7e)
            return leat_component_error(component, err,
                                        "continuing_subword_prefix must be printable ASCII where "
                                        "the pre_tokenizer is ByteLevel");
    if (leat_word_trie_build(&model->trie, &model->base.tokens, model->is_byte_level, prefix, n,
                             err) < 0)
        return leat_component_place(component, err);
    model->continuing = leat_word_trie_base(&model->trie, prefix, n);
    return 0;
}

static int read(struct wordpiece *model, const struct leat_component *component,
                struct leat_error *err) {
    struct leat_component vocab;
    int r = leat_component_child(component, "vocab", LEAT_JSON_OBJECT, &vocab, err);

    if (r == 0)
        r = leat_model_read_vocab(&vocab, &model->base.tokens, err);
    if (r < 0)
        return r;
    leat_token_table_shrink(&model->base.tokens);
    r = build(model, component, err);
    if (r == 0)
        r = read_unknown(model, component, err);
    if (r == 0)
        r = leat_component_uint(component, "max_input_chars_per_word", -1, UINT64_MAX,
                                &model->max_chars, err);
    return r;
}

static void describe(struct wordpiece *model) {
    model->base.n_bytes = sizeof(*model) + leat_word_trie_n_bytes(&model->trie);
    (void)snprintf(model->base.algorithm, sizeof(model->base.algorithm),
                   "longest match on a double array of %u nodes, words cached",
                   model->trie.n_nodes);
}

static int new (const struct leat_component *component, bool is_byte_level,
                struct leat_model **ret_model, struct leat_error *err) {
    struct wordpiece *model = calloc(1, sizeof(*model));
    int r;

    if (!model)
        return leat_error_oom(err);
    model->base.ops = &leat_model_wordpiece;
    model->is_byte_level = is_byte_level;
    r = read(model, component, err);
    if (r < 0) {
        model_free(&model->base);
        return r;
    }
    describe(model);
    *ret_model = &model->base;
    return 0;
}

const struct leat_model_ops leat_model_wordpiece = {
    .name = "WordPiece",
    .new = new,
    .free = model_free,
    .context_new = context_new,
    .context_free = context_free,
    .context_clear = context_clear,
    .encode = encode,
    .encode_tokens = encode_tokens,
};
