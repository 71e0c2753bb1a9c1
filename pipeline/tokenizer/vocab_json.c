/* vocab_json.c: {token: id} and tokenizer.json. See vocab.h. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/token_text.h"
#include "pipeline/tokenizer/vocab_builder.h"

static bool find(struct leat_json_node object, const char *key, struct leat_json_node *ret_value) {
    return leat_json_find(object, key, strlen(key), ret_value);
}

static int wrong_kind(struct leat_error *err, const char *path, struct leat_json_node node,
                      const char *expected) {
    int r = leat_error_set(err, -EINVAL, "%s, but it must be %s",
                           leat_json_kind_name(leat_json_kind(node)), expected);

    leat_error_prefix(err, "%s", path);
    return r;
}

static int read_members(struct leat_vocab_builder *builder, struct leat_json_node object,
                        const char *path, struct leat_error *err) {
    struct leat_json_iterator it;
    struct leat_json_node value;
    const char *key;
    size_t n_key;
    int r = 0;

    leat_json_iterate(object, &it);
    while (r == 0 && leat_json_next_member(&it, &key, &n_key, &value)) {
        char shown[LEAT_TOKEN_TEXT_MAX];

        if (leat_json_kind(value) != LEAT_JSON_INT) {
            r = leat_error_set(err, -EINVAL, "the id of token \"%s\" is %s, but must be an integer",
                               leat_token_text((const uint8_t *)key, n_key, shown),
                               leat_json_kind_name(leat_json_kind(value)));
            leat_error_prefix(err, "%s", path);
            return r;
        }
        r = leat_vocab_builder_add(builder, key, n_key, leat_json_int(value), LEAT_VOCAB_MODEL, 1.0,
                                   0, err);
    }
    return r;
}

/* [[piece, log probability]...] */
static int read_pieces(struct leat_vocab_builder *builder, struct leat_json_node array,
                       struct leat_error *err) {
    struct leat_json_iterator it, pair;
    struct leat_json_node item, piece, score;
    int64_t id = 0;
    int r = 0;

    leat_json_iterate(array, &it);
    for (; r == 0 && leat_json_next(&it, &item); id++) {
        const char *text;
        size_t n;

        if (leat_json_kind(item) != LEAT_JSON_ARRAY || leat_json_n_items(item) != 2)
            return wrong_kind(err, "model.vocab", item, "[piece, score]");
        leat_json_iterate(item, &pair);
        (void)leat_json_next(&pair, &piece);
        (void)leat_json_next(&pair, &score);
        if (leat_json_kind(piece) != LEAT_JSON_STRING)
            return wrong_kind(err, "model.vocab", piece, "a piece, a string");
        if (leat_json_kind(score) < LEAT_JSON_INT || leat_json_kind(score) > LEAT_JSON_DOUBLE)
            return wrong_kind(err, "model.vocab", score, "a score, a number");
        text = leat_json_string(piece, &n);
        r = leat_vocab_builder_add(builder, text, n, id, LEAT_VOCAB_MODEL, -leat_json_double(score),
                                   0, err);
    }
    builder->vocab->has_costs = true;
    return r;
}

const char *const leat_vocab_pads[] = {"[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>", NULL};

static bool is_pad(const char *text, size_t n) {
    for (const char *const *name = leat_vocab_pads; *name; name++)
        if (strlen(*name) == n && memcmp(*name, text, n) == 0)
            return true;
    return false;
}

/* An added token costs nothing where the model has a cost for each of its own, as the control
 * symbols of sentencepiece do; one that repeats a token of the model keeps that one's cost. */
static int read_added(struct leat_vocab_builder *builder, struct leat_json_node array,
                      struct leat_error *err) {
    double cost = builder->vocab->has_costs ? 0.0 : 1.0;
    struct leat_json_node item, id, content;
    struct leat_json_iterator it;
    int r = 0;

    leat_json_iterate(array, &it);
    while (r == 0 && leat_json_next(&it, &item)) {
        const char *text;
        size_t n;

        if (!find(item, "id", &id) || leat_json_kind(id) != LEAT_JSON_INT)
            return wrong_kind(err, "added_tokens", item, "an object with an integer `id`");
        if (!find(item, "content", &content) || leat_json_kind(content) != LEAT_JSON_STRING)
            return wrong_kind(err, "added_tokens", item, "an object with a string `content`");
        text = leat_json_string(content, &n);
        r = leat_vocab_builder_add(builder, text, n, leat_json_int(id), LEAT_VOCAB_ADDED, cost, 0,
                                   err);
        if (is_pad(text, n) && builder->vocab->pad_id < 0)
            builder->vocab->pad_id = leat_json_int(id);
    }
    return r;
}

static int read_vocab(struct leat_vocab_builder *builder, struct leat_json_node model,
                      struct leat_error *err) {
    struct leat_json_node vocab;

    if (!find(model, "vocab", &vocab))
        return leat_error_set(err, -EINVAL, "`model` has no `vocab`");
    if (leat_json_kind(vocab) == LEAT_JSON_OBJECT)
        return read_members(builder, vocab, "model.vocab", err);
    if (leat_json_kind(vocab) == LEAT_JSON_ARRAY)
        return read_pieces(builder, vocab, err);
    return wrong_kind(err, "model.vocab", vocab, "an object or an array");
}

/* Unigram says it by number, the others by name. */
static void read_unk(struct leat_vocab *vocab, struct leat_json_node model) {
    struct leat_json_node value, entries, id;
    const char *text;
    size_t n;

    if (find(model, "unk_id", &value) && leat_json_kind(value) == LEAT_JSON_INT) {
        vocab->unk_id = leat_json_int(value);
        return;
    }
    if (!find(model, "unk_token", &value) || leat_json_kind(value) != LEAT_JSON_STRING)
        return;
    text = leat_json_string(value, &n);
    if (find(model, "vocab", &entries) && leat_json_find(entries, text, n, &id) &&
        leat_json_kind(id) == LEAT_JSON_INT)
        vocab->unk_id = leat_json_int(id);
}

static void read_pad(struct leat_vocab *vocab, struct leat_json_node root) {
    struct leat_json_node padding, id;

    if (find(root, "padding", &padding) && find(padding, "pad_id", &id) &&
        leat_json_kind(id) == LEAT_JSON_INT && leat_json_int(id) >= 0)
        vocab->pad_id = leat_json_int(id);
}

static int read_tokenizer(struct leat_vocab_builder *builder, struct leat_json_node root,
                          struct leat_json_node model, struct leat_error *err) {
    struct leat_json_node added;
    int r;

    r = read_vocab(builder, model, err);
    if (r < 0)
        return r;
    if (find(root, "added_tokens", &added) && leat_json_kind(added) != LEAT_JSON_NULL) {
        if (leat_json_kind(added) != LEAT_JSON_ARRAY)
            return wrong_kind(err, "added_tokens", added, "an array");
        r = read_added(builder, added, err);
    }
    read_unk(builder->vocab, model);
    read_pad(builder->vocab, root);
    return r;
}

static int read_root(struct leat_vocab_builder *builder, struct leat_json_node root,
                     struct leat_error *err) {
    struct leat_json_node model;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "%s, but a vocabulary is an object",
                              leat_json_kind_name(leat_json_kind(root)));
    if (find(root, "model", &model) && leat_json_kind(model) == LEAT_JSON_OBJECT)
        return read_tokenizer(builder, root, model, err);
    return read_members(builder, root, "", err);
}

int leat_vocab_builder_read_json(struct leat_vocab_builder *builder, const char *data,
                                 size_t n_bytes, struct leat_error *err) {
    struct leat_json_node root;
    struct leat_json *json;
    int r;

    r = leat_json_new(n_bytes, &json);
    if (r < 0)
        return leat_error_oom(err);
    r = leat_json_parse(json, data, n_bytes, n_bytes, &root, err);
    if (r == 0)
        r = read_root(builder, root, err);
    leat_json_free(json);
    return r;
}
