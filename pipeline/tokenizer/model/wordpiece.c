/* wordpiece.c: WordPiece (BERT): the longest token that the word starts with, then the longest
 * continuing one, and so on. See model.h.
 *
 * A word that cannot be spelled out, or of more than max_input_chars_per_word characters, is one
 * unknown token; that this token exists is asked only then, as HF does. One trie holds all tokens;
 * a continuing token is looked for from where its prefix ("##") leads.
 */
#include <errno.h>
#include <stdio.h>

#include "pipeline/tokenizer/model/model.h"
#include "pipeline/tokenizer/model/word_trie.h"

struct wordpiece {
    struct leat_model base;
    struct leat_word_trie trie;
    uint32_t continuing; /* base of the prefix, 0: no token continues */
    int32_t unknown;     /* id, or -1 */
    uint64_t max_chars;  /* of a word */
    char unknown_text[LEAT_MODEL_UNKNOWN_TEXT_MAX];
};

/* ---- encode */

static bool is_too_long(const struct wordpiece *model, const uint8_t *word, uint32_t n_bytes) {
    uint64_t n_chars = 0;

    if (n_bytes <= model->max_chars || model->base.is_byte_level)
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

/* The unknown token in place of a word. */
static int find_unknown(const struct wordpiece *model, int32_t *ret_id, struct leat_error *err) {
    *ret_id = model->unknown;
    if (*ret_id >= 0)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "the model cannot spell a word, and its unk_token \"%s\" is not in its "
                          "vocabulary",
                          model->unknown_text);
}

static int encode_word(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    const struct wordpiece *model =
        (const struct wordpiece *)((struct leat_model_context *)context)->model;

    *ret_n_ids = spell(model, word, n_bytes, ids, NULL);
    if (*ret_n_ids || n_bytes == 0)
        return 0;
    *ret_n_ids = 1;
    return find_unknown(model, ids, err);
}

static int encode_tokens(struct leat_model_context *context, const struct leat_text_view *text,
                         struct leat_range word, struct leat_token *tokens, size_t *ret_n_tokens,
                         struct leat_error *err) {
    const struct wordpiece *model = (const struct wordpiece *)context->model;
    uint32_t n_bytes = word.end - word.start;
    size_t n = spell(model, text->bytes + word.start, n_bytes, NULL, tokens);

    for (size_t i = 0; i < n; i++) {
        tokens[i].range.start += word.start;
        tokens[i].range.end += word.start;
    }
    *ret_n_tokens = n;
    if (n || !n_bytes)
        return 0;
    *ret_n_tokens = 1;
    tokens[0].range = word;
    return find_unknown(model, &tokens[0].id, err);
}

/* ---- load */

/* The trie, and where the prefix leads to. In GPT-2's alphabet, a prefix of printable ASCII is the
 * same as raw bytes. */
static int build(struct wordpiece *model, const struct leat_component *component,
                 struct leat_error *err) {
    const char *prefix;
    size_t n;
    int r = leat_component_string(component, "continuing_subword_prefix", NULL, &prefix, &n, err);

    if (r < 0)
        return r;
    for (size_t i = 0; model->base.is_byte_level && i < n; i++)
        if (prefix[i] < 0x21 || prefix[i] > 0x7e)
            return leat_component_error(component, err,
                                        "continuing_subword_prefix must be printable ASCII if the "
                                        "pre_tokenizer is ByteLevel");
    if (leat_word_trie_build(&model->trie, &model->base.tokens, model->base.is_byte_level, prefix,
                             n, err) < 0)
        return leat_component_place(component, err);
    model->continuing = leat_word_trie_base(&model->trie, prefix, n);
    return 0;
}

static int load(struct leat_model *base, const struct leat_component *component,
                struct leat_error *err) {
    struct wordpiece *model = (struct wordpiece *)base;
    int r = leat_model_read_vocab(base, component, err);

    if (r == 0)
        r = build(model, component, err);
    if (r == 0)
        r = leat_model_read_unknown(base, component, &model->unknown, model->unknown_text, err);
    if (r == 0)
        r = leat_component_uint(component, "max_input_chars_per_word", -1, UINT64_MAX,
                                &model->max_chars, err);
    base->n_bytes += leat_word_trie_n_bytes(&model->trie);
    (void)snprintf(base->algorithm, sizeof(base->algorithm),
                   "longest match on a double array of %u nodes, words cached",
                   model->trie.n_nodes);
    return r;
}

static void free_trie(struct leat_model *model) {
    leat_word_trie_deinit(&((struct wordpiece *)model)->trie);
}

const struct leat_model_ops leat_model_wordpiece = {
    .name = "WordPiece",
    .model_bytes = sizeof(struct wordpiece),
    .context_bytes = sizeof(struct leat_model_context),
    .load = load,
    .free = free_trie,
    .encode_word = encode_word,
    .encode_tokens = encode_tokens,
};
