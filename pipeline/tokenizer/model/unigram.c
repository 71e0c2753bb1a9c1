/* unigram.c: Unigram (sentencepiece; T5, XLM-RoBERTa, ALBERT): loading, and the words' cache in
 * front of the best path. See model.h and unigram_path.h.
 *
 * Scores whose sums could leave the range of a double are refused: so no score is infinite or not a
 * number, and comparing them needs no care.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model/model.h"
#include "pipeline/tokenizer/model/score_reader.h"
#include "pipeline/tokenizer/model/unigram_path.h"

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
    struct leat_model_context base;
    struct leat_unigram_path path;
};

/* ---- encode */

static int encode_to(struct leat_model_context *context, const uint8_t *word, uint32_t n_bytes,
                     struct leat_unigram_sink *sink, struct leat_error *err) {
    return leat_unigram_path_encode(&((const struct unigram *)context->model)->plan,
                                    &((struct unigram_context *)context)->path, word, n_bytes, sink,
                                    err);
}

static int encode_word(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                       size_t *ret_n_ids, struct leat_error *err) {
    struct leat_unigram_sink sink = {.ids = ids};
    int r = encode_to(context, word, n_bytes, &sink, err);

    *ret_n_ids = sink.n;
    return r;
}

static int encode_tokens(struct leat_model_context *context, const struct leat_text_view *text,
                         struct leat_range word, struct leat_token *tokens, size_t *ret_n_tokens,
                         struct leat_error *err) {
    struct leat_unigram_sink sink = {.tokens = tokens};
    int r = encode_to(context, text->bytes + word.start, word.end - word.start, &sink, err);

    for (size_t i = 0; i < sink.n; i++) {
        tokens[i].range.start += word.start;
        tokens[i].range.end += word.start;
    }
    *ret_n_tokens = sink.n;
    return r;
}

static int context_init(struct leat_model_context *context) {
    return leat_unigram_path_init(&((struct unigram_context *)context)->path);
}

static void context_deinit(struct leat_model_context *context) {
    leat_unigram_path_deinit(&((struct unigram_context *)context)->path);
}

/* ---- load */

static int check_item(const struct leat_component *item, struct leat_json_node *ret_piece,
                      struct leat_error *err) {
    struct leat_component_iterator it;
    struct leat_component part;
    enum leat_json_kind kind = leat_json_kind(item->node);

    if (kind != LEAT_JSON_ARRAY || leat_json_n_items(item->node) != 2)
        return leat_component_error(item, err, "is %s, but must be [piece, score]",
                                    kind == LEAT_JSON_ARRAY ? "an array that does not have length 2"
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
        return leat_component_error(item, err, "the score is outside +-%g", SCORE_MAX);
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
        return leat_component_error(vocab, err, "has %zu pieces; at most %u are possible", n_items,
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
        return leat_component_error(&child, err, "`vocab` is empty, so there is no piece for it");
    r = leat_component_uint(component, "unk_id", -1, scores->n - 1, &id, err);
    if (r == 0)
        plan->unknown = (int64_t)id;
    return r;
}

static int read_fallback(struct unigram *model, const struct leat_component *component,
                         struct leat_error *err) {
    int r =
        leat_component_bool(component, "byte_fallback", false, &model->plan.has_byte_fallback, err);

    leat_model_find_bytes(&model->base, model->plan.byte_ids);
    if (r == 0 && model->plan.has_byte_fallback && model->plan.is_byte_level)
        r = leat_component_error(component, err,
                                 "byte_fallback does not work with a ByteLevel pre_tokenizer");
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

static int load(struct leat_model *base, const struct leat_component *component,
                struct leat_error *err) {
    struct unigram *model = (struct unigram *)base;
    const struct leat_unigram_plan *plan = &model->plan;
    struct scores scores = {.n = 0};
    int r;

    model->plan.is_byte_level = base->is_byte_level;
    r = read(model, &scores, component, err);
    free(scores.items);
    base->unknown_is_text = plan->unknown >= 0;
    base->unknown_id = (int32_t)plan->unknown;
    base->n_bytes +=
        leat_word_trie_n_bytes(&plan->trie) + plan->trie.n_nodes * sizeof(*plan->scores);
    (void)snprintf(base->algorithm, sizeof(base->algorithm),
                   "best path on a double array of %u nodes, words cached", plan->trie.n_nodes);
    return r;
}

static void free_plan(struct leat_model *model) {
    struct leat_unigram_plan *plan = &((struct unigram *)model)->plan;

    leat_word_trie_deinit(&plan->trie);
    free(plan->scores);
}

const struct leat_model_ops leat_model_unigram = {
    .name = "Unigram",
    .model_bytes = sizeof(struct unigram),
    .context_bytes = sizeof(struct unigram_context),
    .load = load,
    .free = free_plan,
    .context_init = context_init,
    .context_deinit = context_deinit,
    .encode_word = encode_word,
    .encode_tokens = encode_tokens,
};
