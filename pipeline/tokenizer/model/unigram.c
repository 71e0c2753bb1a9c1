/* unigram.c: Unigram (sentencepiece; T5, XLM-RoBERTa, ALBERT): loading, and the words' cache in
 * front of the best path. See model.h and unigram_path.h.
 *
 * Scores whose sums could leave the range of a double are refused: so no score is infinite or not a
 * number, and comparing them needs no care.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model.h"
#include "pipeline/tokenizer/model/score_reader.h"
#include "pipeline/tokenizer/model/unigram_path.h"
#include "pipeline/tokenizer/model/word_cache.h"

#define SCORE_MAX       1e290
#define UNKNOWN_PENALTY 10.0
#define PIECE_BYTES     8 /* on average, to begin with */
#define AHEAD           8 /* pieces whose slots are fetched */

struct unigram {
    struct leat_model base;
    struct leat_unigram_plan plan;
};

/* While it is read. */
struct scores {
    double *items; /* by id */
    size_t n;
};

struct unigram_context {
    const struct leat_unigram_plan *plan;
    struct leat_word_cache cache;
    struct leat_unigram_path path;
};

static struct unigram_context *of_context(struct leat_model_context *context) {
    return (struct unigram_context *)context;
}

/* ---- encode */

static int encode_word(void *opaque, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    struct unigram_context *context = opaque;
    struct leat_unigram_sink sink = {.ids = ids};
    int r = leat_unigram_path_encode(context->plan, &context->path, word, n_bytes, &sink, err);

    *ret_n_ids = sink.n;
    return r;
}

static int encode(const struct leat_model *model, struct leat_model_context *context,
                  const struct leat_text_view *text, const struct leat_range *words, size_t n_words,
                  int32_t *ids, size_t *ret_n_ids, struct leat_error *err) {
    (void)model;
    return leat_word_cache_encode(&of_context(context)->cache, text, words, n_words, encode_word,
                                  context, ids, ret_n_ids, err);
}

static int encode_tokens(const struct leat_model *model, struct leat_model_context *context,
                         const struct leat_text_view *text, struct leat_range word,
                         struct leat_token *tokens, size_t *ret_n_tokens, struct leat_error *err) {
    struct unigram_context *self = of_context(context);
    struct leat_unigram_sink sink = {.tokens = tokens};
    int r = leat_unigram_path_encode(self->plan, &self->path, text->bytes + word.start,
                                     word.end - word.start, &sink, err);

    (void)model;
    for (size_t i = 0; i < sink.n; i++) {
        tokens[i].range.start += word.start;
        tokens[i].range.end += word.start;
    }
    *ret_n_tokens = sink.n;
    return r;
}

static struct leat_model_context *context_free(struct leat_model_context *context) {
    if (context) {
        leat_word_cache_deinit(&of_context(context)->cache);
        leat_unigram_path_deinit(&of_context(context)->path);
    }
    free(context);
    return NULL;
}

static int context_new(const struct leat_model *model, struct leat_model_context **ret_context) {
    struct unigram_context *context = calloc(1, sizeof(*context));

    if (!context)
        return -ENOMEM;
    context->plan = &((const struct unigram *)model)->plan;
    if (leat_word_cache_init(&context->cache) < 0 || leat_unigram_path_init(&context->path) < 0) {
        context_free((struct leat_model_context *)context);
        return -ENOMEM;
    }
    *ret_context = (struct leat_model_context *)context;
    return 0;
}

static void context_clear(struct leat_model_context *context) {
    leat_word_cache_clear(&of_context(context)->cache);
}

/* ---- load */

static struct leat_model *model_free(struct leat_model *base) {
    struct unigram *model = (struct unigram *)base;

    if (!model)
        return NULL;
    leat_token_table_deinit(&model->base.tokens);
    leat_word_trie_deinit(&model->plan.trie);
    free(model->plan.scores);
    free(model);
    return NULL;
}

static int check_item(const struct leat_component *item, struct leat_json_node *ret_piece,
                      struct leat_error *err) {
    struct leat_component_iterator it;
    struct leat_component part;
    enum leat_json_kind kind = leat_json_kind(item->node);

    if (kind != LEAT_JSON_ARRAY || leat_json_n_items(item->node) != 2)
        return leat_component_error(item, err, "is %s, but must be [piece, score]",
                                    kind == LEAT_JSON_ARRAY ? "an array of another length than 2"
                                                            : leat_json_kind_name(kind));
    leat_component_iterate(item, &it);
    (void)leat_component_next(&it, &part);
    *ret_piece = part.node;
    if (leat_json_kind(part.node) != LEAT_JSON_STRING)
        return leat_component_error(&part, err, "is %s, but a piece must be a string",
                                    leat_json_kind_name(leat_json_kind(part.node)));
    (void)leat_component_next(&it, &part);
    kind = leat_json_kind(part.node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_UINT && kind != LEAT_JSON_DOUBLE)
        return leat_component_error(&part, err, "is %s, but a score must be a number",
                                    leat_json_kind_name(kind));
    return 0;
}

static int read_item(struct leat_token_table *tokens, struct scores *scores,
                     const struct leat_component *item, struct leat_score_reader *reader,
                     struct leat_error *err) {
    struct leat_json_node piece;
    const char *text;
    size_t n_bytes;
    double score;
    int r = check_item(item, &piece, err);

    if (r < 0)
        return r;
    if (!leat_score_reader_next(reader, &score) || fabs(score) > SCORE_MAX)
        return leat_component_error(item, err, "the score is beyond +-%g", SCORE_MAX);
    text = leat_json_string(piece, &n_bytes);
    if (leat_token_table_add(tokens, text, n_bytes, (uint32_t)scores->n, err) < 0)
        return leat_component_place(item, err);
    scores->items[scores->n++] = score;
    return 0;
}

static void prefetch(const struct leat_token_table *tokens, struct leat_json_iterator *ahead) {
    struct leat_json_iterator it;
    struct leat_json_node item, piece;
    const char *text;
    size_t n_bytes;

    if (!leat_json_next(ahead, &item) || leat_json_kind(item) != LEAT_JSON_ARRAY)
        return;
    leat_json_iterate(item, &it);
    if (!leat_json_next(&it, &piece) || leat_json_kind(piece) != LEAT_JSON_STRING)
        return;
    text = leat_json_string(piece, &n_bytes);
    leat_token_table_prefetch(tokens, text, n_bytes);
}

static int read_vocab(struct leat_token_table *tokens, struct scores *scores,
                      const struct leat_component *vocab, struct leat_error *err) {
    size_t n_items = leat_json_n_items(vocab->node);
    struct leat_component_iterator it;
    struct leat_json_iterator ahead;
    struct leat_score_reader reader;
    struct leat_component item;
    int r = 0;

    if (n_items > LEAT_TOKEN_TABLE_TOKENS_MAX)
        return leat_component_error(vocab, err, "has %zu pieces, above the limit of %u", n_items,
                                    LEAT_TOKEN_TABLE_TOKENS_MAX);
    scores->items = malloc((n_items + 1) * sizeof(*scores->items));
    if (!scores->items || leat_token_table_reserve(tokens, n_items, n_items * PIECE_BYTES) < 0)
        return leat_error_oom(err);
    leat_score_reader_init(&reader, vocab);
    leat_json_iterate(vocab->node, &ahead);
    for (int i = 0; i < AHEAD; i++)
        prefetch(tokens, &ahead);
    leat_component_iterate(vocab, &it);
    while (r == 0 && leat_component_next(&it, &item)) {
        prefetch(tokens, &ahead);
        r = read_item(tokens, scores, &item, &reader, err);
    }
    leat_token_table_shrink(tokens);
    return r;
}

static int read_unknown(struct leat_unigram_plan *plan, const struct scores *scores,
                        const struct leat_component *component, struct leat_error *err) {
    struct leat_component child;
    double lowest = INFINITY;
    uint64_t id;
    int r;

    for (size_t i = 0; i < scores->n; i++)
        if (scores->items[i] < lowest)
            lowest = scores->items[i];
    plan->unknown_score = lowest - UNKNOWN_PENALTY;
    plan->unknown = -1;
    if (!leat_component_get(component, "unk_id", &child))
        return 0;
    if (scores->n == 0)
        return leat_component_error(&child, err, "there is no piece for it: `vocab` is empty");
    r = leat_component_uint(component, "unk_id", -1, scores->n - 1, &id, err);
    if (r == 0)
        plan->unknown = (int64_t)id;
    return r;
}

static void find_bytes(struct unigram *model) {
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        int n = snprintf(text, sizeof(text), "<0x%02X>", byte);

        model->plan.byte_ids[byte] = leat_token_table_find(&model->base.tokens, text, (size_t)n);
    }
}

static int read_fallback(struct unigram *model, const struct leat_component *component,
                         struct leat_error *err) {
    int r =
        leat_component_bool(component, "byte_fallback", false, &model->plan.has_byte_fallback, err);

    find_bytes(model);
    if (r == 0 && model->plan.has_byte_fallback && model->plan.is_byte_level)
        r = leat_component_error(component, err,
                                 "byte_fallback with a ByteLevel pre_tokenizer is not supported");
    return r;
}

static int build(struct unigram *model, const struct scores *scores,
                 const struct leat_component *vocab, struct leat_error *err) {
    struct leat_unigram_plan *plan = &model->plan;
    uint32_t n_nodes;

    if (leat_word_trie_build(&plan->trie, &model->base.tokens, plan->is_byte_level, "", 0, err) < 0)
        return leat_component_place(vocab, err);
    n_nodes = plan->trie.n_nodes;
    plan->scores = calloc(n_nodes, sizeof(*plan->scores));
    if (!plan->scores)
        return leat_error_oom(err);
    for (uint32_t node = 0; node < n_nodes; node++)
        if (leat_word_trie_has_id(&plan->trie, node))
            plan->scores[node] = scores->items[plan->trie.ids[node]];
    return 0;
}

static int read(struct unigram *model, struct scores *scores,
                const struct leat_component *component, struct leat_error *err) {
    struct leat_component vocab;
    int r = leat_component_child(component, "vocab", LEAT_JSON_ARRAY, &vocab, err);

    if (r == 0)
        r = read_vocab(&model->base.tokens, scores, &vocab, err);
    if (r == 0)
        r = read_unknown(&model->plan, scores, component, err);
    if (r == 0)
        r = read_fallback(model, component, err);
    if (r == 0)
        r = build(model, scores, &vocab, err);
    return r;
}

static void describe(struct unigram *model) {
    const struct leat_unigram_plan *plan = &model->plan;

    model->base.unknown_is_text = plan->unknown >= 0;
    model->base.unknown_id = (int32_t)plan->unknown;
    model->base.n_bytes = sizeof(*model) + leat_word_trie_n_bytes(&plan->trie) +
                          plan->trie.n_nodes * sizeof(*plan->scores);
    (void)snprintf(model->base.algorithm, sizeof(model->base.algorithm),
                   "best path on a double array of %u nodes, words cached", plan->trie.n_nodes);
}

static int new (const struct leat_component *component, bool is_byte_level,
                struct leat_model **ret_model, struct leat_error *err) {
    struct unigram *model = calloc(1, sizeof(*model));
    struct scores scores = {.n = 0};
    int r;

    if (!model)
        return leat_error_oom(err);
    model->base.ops = &leat_model_unigram;
    model->plan.is_byte_level = is_byte_level;
    r = read(model, &scores, component, err);
    free(scores.items);
    if (r < 0) {
        model_free(&model->base);
        return r;
    }
    describe(model);
    *ret_model = &model->base;
    return 0;
}

const struct leat_model_ops leat_model_unigram = {
    .name = "Unigram",
    .new = new,
    .free = model_free,
    .context_new = context_new,
    .context_free = context_free,
    .context_clear = context_clear,
    .encode = encode,
    .encode_tokens = encode_tokens,
};
