/* added_tokens.c: ids of added tokens, and cutting them out of a text. See added_tokens.h. */
#include "pipeline/tokenizer/added/added_tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/utf8.h"

#define NONE UINT32_MAX

void leat_added_tokens_deinit(struct leat_added_tokens *added) {
    leat_token_table_deinit(&added->table);
    leat_token_table_deinit(&added->changed);
    free(added->tokens);
    free(added->by_id);
    leat_added_matcher_deinit(&added->raw);
    leat_added_matcher_deinit(&added->normalized);
    *added = (struct leat_added_tokens){0};
}

/* The state of loading besides the result. */
struct loading {
    struct leat_added_tokens *added;
    const struct leat_token_table *model;
    int64_t max_id; /* of the tokens so far; -1: none */
};

static int read_flags(const struct leat_component *item, struct leat_added_token *token,
                      struct leat_error *err) {
    int r = leat_component_bool(item, "special", 0, &token->is_special, err);

    if (r == 0)
        r = leat_component_bool(item, "single_word", 0, &token->is_single_word, err);
    if (r == 0)
        r = leat_component_bool(item, "lstrip", 0, &token->strips_left, err);
    if (r == 0)
        r = leat_component_bool(item, "rstrip", 0, &token->strips_right, err);
    if (r == 0)
        r = leat_component_bool(item, "normalized", !token->is_special, &token->is_normalized, err);
    return r;
}

/* The id that the text has, here or in the model; else the next free one. */
static int64_t choose_id(const struct loading *loading, const char *text, size_t n) {
    int64_t n_model = loading->model->n_tokens;
    int64_t id = leat_token_table_find(&loading->added->table, text, n);

    if (id < 0)
        id = leat_token_table_find(loading->model, text, n);
    if (id >= 0)
        return id;
    return loading->max_id >= n_model || (loading->max_id >= 0 && n_model == 0)
               ? loading->max_id + 1
               : n_model;
}

static int add_token(struct loading *loading, const struct leat_component *item,
                     struct leat_error *err) {
    struct leat_added_tokens *added = loading->added;
    struct leat_added_token token = {0};
    uint32_t index = added->table.n_tokens;
    const char *text;
    size_t n;
    int r;

    r = leat_component_string(item, "content", NULL, &text, &n, err);
    if (r == 0)
        r = read_flags(item, &token, err);
    if (r < 0 || n == 0)
        return r;
    if (n > LEAT_ADDED_TOKEN_BYTES_MAX)
        return leat_component_error(item, err, "`content` has %zu bytes; at most %d are possible",
                                    n, LEAT_ADDED_TOKEN_BYTES_MAX);
    token.id = (int32_t)choose_id(loading, text, n);
    r = leat_token_table_add(&added->table, text, n, (uint32_t)token.id, err);
    if (r < 0)
        return leat_component_place(item, err);
    if (index == added->table.n_tokens) /* the same text again: its flags count */
        index = added->table.by_id[token.id];
    token.was_special = token.is_special || added->tokens[index].was_special;
    added->tokens[index] = token;
    if (token.id > loading->max_id)
        loading->max_id = token.id;
    return 0;
}

static int read_tokens(struct loading *loading, const struct leat_component *component,
                       struct leat_error *err) {
    struct leat_component_iterator it;
    struct leat_component item;
    size_t n = leat_json_n_items(component->node);
    int r = 0;

    if (leat_json_kind(component->node) != LEAT_JSON_ARRAY)
        return leat_component_error(component, err, "is %s, but must be an array",
                                    leat_json_kind_name(leat_json_kind(component->node)));
    if (n > LEAT_ADDED_TOKENS_MAX)
        return leat_component_error(component, err, "has %zu tokens; at most %u are possible", n,
                                    LEAT_ADDED_TOKENS_MAX);
    loading->added->tokens = calloc(n + 1, sizeof(*loading->added->tokens));
    if (!loading->added->tokens)
        return leat_error_oom(err);
    leat_component_iterate(component, &it);
    while (r == 0 && leat_component_next(&it, &item))
        r = add_token(loading, &item, err);
    return r;
}

/* Patterns in HF's order: special tokens first, each group as in the file. */
static int normalize_pattern(const struct leat_normalizer *normalizer,
                             struct leat_normalizer_context *context, struct leat_text_buffer *pool,
                             struct leat_added_pattern *pattern, struct leat_error *err) {
    struct leat_text_buffer padded = {0};
    struct leat_text_view source, result;
    int r = leat_text_buffer_reserve(&padded, pattern->n_bytes, false);

    if (r == 0) {
        memcpy(padded.bytes, pattern->bytes, pattern->n_bytes);
        padded.n_bytes = pattern->n_bytes;
        source = leat_text_buffer_view(&padded, false);
        r = leat_normalizer_run(normalizer, context, &source, &result, err);
    }
    if (r == 0)
        r = leat_text_buffer_reserve(pool, result.n_bytes, false);
    if (r == 0) {
        memcpy(pool->bytes + pool->n_bytes, result.bytes, result.n_bytes);
        pattern->n_bytes = result.n_bytes;
        pool->n_bytes += result.n_bytes;
    }
    leat_text_buffer_deinit(&padded);
    return r;
}

static size_t collect(const struct leat_added_tokens *added, bool is_normalized,
                      struct leat_added_pattern *patterns) {
    size_t n = 0;

    for (int special = 1; special >= 0; special--) {
        for (uint32_t i = 0; i < added->table.n_tokens; i++) {
            const struct leat_token_table_text *text = &added->table.texts[i];

            if (added->tokens[i].is_special == special &&
                added->tokens[i].is_normalized == is_normalized)
                patterns[n++] = (struct leat_added_pattern){
                    .bytes = added->table.pool + text->start, .n_bytes = text->n_bytes, .value = i};
        }
    }
    return n;
}

/* Notes the spelling of a token that normalization changes. */
static int note_change(struct leat_added_tokens *added, const struct leat_added_pattern *pattern,
                       struct leat_error *err) {
    const struct leat_token_table_text *text = &added->table.texts[pattern->value];

    if (pattern->n_bytes == text->n_bytes &&
        memcmp(pattern->bytes, added->table.pool + text->start, text->n_bytes) == 0)
        return 0;
    return leat_token_table_add(&added->changed, pattern->bytes, pattern->n_bytes, text->id, err);
}

/* Normalizes the patterns' texts, and drops those that become empty. */
static int normalize_patterns(struct leat_added_tokens *added,
                              const struct leat_normalizer *normalizer,
                              struct leat_text_buffer *pool, struct leat_added_pattern *patterns,
                              size_t *n_patterns, struct leat_error *err) {
    struct leat_normalizer_context *context = leat_normalizer_context_new();
    uint32_t at = 0;
    size_t n = 0;
    int r = context ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < *n_patterns; i++)
        r = normalize_pattern(normalizer, context, pool, &patterns[i], err);
    leat_normalizer_context_free(context);
    if (r < 0)
        return r == -ENOMEM ? leat_error_oom(err) : r;
    for (size_t i = 0; r == 0 && i < *n_patterns; i++) {
        patterns[i].bytes = pool->bytes + at;
        at += patterns[i].n_bytes;
        r = note_change(added, &patterns[i], err);
        if (patterns[i].n_bytes)
            patterns[n++] = patterns[i];
    }
    *n_patterns = n;
    return r;
}

static int build_matchers(struct leat_added_tokens *added, const struct leat_normalizer *normalizer,
                          struct leat_error *err) {
    struct leat_added_pattern *patterns = calloc(added->table.n_tokens + 1u, sizeof(*patterns));
    struct leat_text_buffer pool = {0};
    size_t n;
    int r;

    if (!patterns)
        return leat_error_oom(err);
    n = collect(added, false, patterns);
    r = leat_added_matcher_init(&added->raw, patterns, n, err);
    n = collect(added, true, patterns);
    added->n_normalized = (uint32_t)n;
    if (r == 0)
        r = normalize_patterns(added, normalizer, &pool, patterns, &n, err);
    if (r == 0)
        r = leat_added_matcher_init(&added->normalized, patterns, n, err);
    leat_text_buffer_deinit(&pool);
    free(patterns);
    return r;
}

static int index_ids(struct leat_added_tokens *added, struct leat_error *err) {
    added->by_id = malloc((added->table.n_ids + 1u) * sizeof(*added->by_id));
    if (!added->by_id)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < added->table.n_ids; i++)
        added->by_id[i] = NONE;
    for (uint32_t i = 0; i < added->table.n_tokens; i++) {
        added->by_id[added->tokens[i].id] = i;
        added->n_special += added->tokens[i].is_special;
    }
    return 0;
}

int leat_added_tokens_init(struct leat_added_tokens *added, const struct leat_component *component,
                           const struct leat_token_table *model,
                           const struct leat_normalizer *normalizer, struct leat_error *err) {
    struct loading loading = {.added = added, .model = model, .max_id = -1};
    int r = 0;

    *added = (struct leat_added_tokens){0};
    if (component)
        r = read_tokens(&loading, component, err);
    if (r == 0)
        r = index_ids(added, err);
    if (r == 0)
        r = build_matchers(added, normalizer, err);
    if (r < 0) {
        leat_added_tokens_deinit(added);
        return r;
    }
    added->n_bytes =
        leat_token_table_n_bytes(&added->table) + leat_token_table_n_bytes(&added->changed) +
        added->table.n_tokens * sizeof(*added->tokens) +
        added->table.n_ids * sizeof(*added->by_id) + leat_added_matcher_n_bytes(&added->raw) +
        leat_added_matcher_n_bytes(&added->normalized);
    return 0;
}

const struct leat_added_token *leat_added_tokens_find(const struct leat_added_tokens *added,
                                                      int64_t id) {
    if (id < 0 || id >= added->table.n_ids || added->by_id[id] == NONE)
        return NULL;
    return &added->tokens[added->by_id[id]];
}

const uint8_t *leat_added_tokens_spelling(const struct leat_added_tokens *added, int64_t id,
                                          uint32_t *ret_n_bytes) {
    const uint8_t *text = leat_token_table_text(&added->changed, id, ret_n_bytes);

    return text ? text : leat_token_table_text(&added->table, id, ret_n_bytes);
}

bool leat_added_tokens_is_special(const struct leat_added_tokens *added, int64_t id) {
    uint32_t n;
    const uint8_t *text = leat_added_tokens_spelling(added, id, &n);
    int32_t same = text ? leat_token_table_find(&added->table, text, n) : -1;

    return same >= 0 && added->tokens[added->by_id[same]].was_special;
}

/* ---- the walk */

static bool is_space(uint32_t code) {
    return leat_unicode_classes(code) & LEAT_UNICODE_RUST_SPACE;
}

static bool is_word(uint32_t code) {
    return leat_unicode_classes(code) & LEAT_UNICODE_RUST_WORD;
}

/* Where the character before `at` begins; at > 0. */
static uint32_t before(const struct leat_text_view *text, uint32_t at) {
    at--;
    while (at > 0 && (text->bytes[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static uint32_t code_at(const struct leat_text_view *text, uint32_t at) {
    return leat_utf8_code_point(text->bytes + at, text->n_bytes - at);
}

static bool stands_alone(const struct leat_text_view *text, struct leat_range match) {
    return (match.start == 0 || !is_word(code_at(text, before(text, match.start)))) &&
           (match.end == text->n_bytes || !is_word(code_at(text, match.end)));
}

static uint32_t strip_left(const struct leat_text_view *text, uint32_t start) {
    while (start > 0 && is_space(code_at(text, before(text, start))))
        start = before(text, start);
    return start;
}

static uint32_t strip_right(const struct leat_text_view *text, uint32_t end) {
    while (end < text->n_bytes && is_space(code_at(text, end)))
        end += leat_utf8_length(text->bytes + end, text->n_bytes - end);
    return end;
}

void leat_added_walk_begin(struct leat_added_walk *walk, const struct leat_added_tokens *added,
                           const struct leat_added_matcher *matcher,
                           const struct leat_text_view *text, bool keeps_special) {
    *walk = (struct leat_added_walk){.added = added,
                                     .matcher = matcher,
                                     .text = text,
                                     .token_id = -1,
                                     .keeps_special = keeps_special};
}

/* The next valid match, with its blanks. */
static const struct leat_added_token *find_token(struct leat_added_walk *walk,
                                                 struct leat_range *ret_range) {
    for (;;) {
        uint32_t index = leat_added_matcher_find(walk->matcher, walk->text, walk->from, ret_range);
        const struct leat_added_token *token;

        if (index == LEAT_ADDED_MATCHER_NONE)
            return NULL;
        walk->from = ret_range->end;
        token = leat_added_tokens_find(walk->added, walk->added->tokens[index].id);
        if (token->is_special && walk->keeps_special)
            continue;
        if (token->is_single_word && !stands_alone(walk->text, *ret_range))
            continue;
        if (token->strips_left) {
            uint32_t start = strip_left(walk->text, ret_range->start);

            ret_range->start = start > walk->done ? start : walk->done;
        }
        if (token->strips_right)
            ret_range->end = strip_right(walk->text, ret_range->end);
        return token;
    }
}

static bool take_token(struct leat_added_walk *walk, struct leat_added_piece *ret_piece) {
    *ret_piece = (struct leat_added_piece){.range = walk->token, .id = walk->token_id};
    walk->done = walk->token.end;
    walk->token_id = -1;
    return true;
}

bool leat_added_walk_next(struct leat_added_walk *walk, struct leat_added_piece *ret_piece) {
    const struct leat_added_token *token;
    uint32_t done = walk->done;

    if (walk->token_id >= 0)
        return take_token(walk, ret_piece);
    if (walk->is_over)
        return false;
    token = find_token(walk, &walk->token);
    if (token && walk->token.start <= done) {
        walk->token_id = token->id;
        return take_token(walk, ret_piece);
    }
    *ret_piece =
        (struct leat_added_piece){.range = {.start = done, .end = walk->text->n_bytes}, .id = -1};
    if (token) {
        ret_piece->range.end = walk->token.start;
        walk->token_id = token->id;
        return true;
    }
    walk->is_over = true;
    return done < walk->text->n_bytes;
}
