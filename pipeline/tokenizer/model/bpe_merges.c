/* bpe_merges.c: `merges` of a BPE model to the table of pairs. See bpe.h.
 *
 * Merges are ["a b", ...] with exactly one space each (lines that begin with #version are dropped,
 * as in merges.txt) or [["a", "b"], ...]. A merge's rank is its place; both parts and what they
 * become, a + b without b's prefix, must be tokens. Each takes three searches in a table of
 * megabytes, which are most of the time that loading takes; so they are fetched some merges ahead.
 */

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/bpe.h"
#include "pipeline/tokenizer/token_encoding.h"
#include "proto/base/utf8.h"

#define MERGE_BYTES_MAX 2048 /* of both parts */
#define MERGES_AHEAD    16

/* Two parts of a merge, as texts. */
struct merge {
    const char *left, *right;
    size_t n_left, n_right;
};

static bool split_legacy(struct leat_json_node node, struct merge *ret_merge) {
    size_t n;
    const char *text = leat_json_string(node, &n);
    const char *space = memchr(text, ' ', n);

    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - text)))
        return false;
    *ret_merge = (struct merge){.left = text,
                                .n_left = (size_t)(space - text),
                                .right = space + 1,
                                .n_right = n - (size_t)(space + 1 - text)};
    return true;
}

static bool split_pair(struct leat_json_node node, struct merge *ret_merge) {
    struct leat_json_iterator it;
    struct leat_json_node left, right;

    if (leat_json_n_items(node) != 2)
        return false;
    leat_json_iterate(node, &it);
    (void)leat_json_next(&it, &left);
    (void)leat_json_next(&it, &right);
    if (leat_json_kind(left) != LEAT_JSON_STRING || leat_json_kind(right) != LEAT_JSON_STRING)
        return false;
    ret_merge->left = leat_json_string(left, &ret_merge->n_left);
    ret_merge->right = leat_json_string(right, &ret_merge->n_right);
    return true;
}

/* The two parts of a merge; false: it is none. */
static bool split(struct leat_json_node node, struct merge *ret_merge) {
    enum leat_json_kind kind = leat_json_kind(node);

    return kind == LEAT_JSON_STRING  ? split_legacy(node, ret_merge)
           : kind == LEAT_JSON_ARRAY ? split_pair(node, ret_merge)
                                     : false;
}

static int refuse(const struct leat_component *item, struct leat_error *err) {
    size_t n;
    const char *text;

    if (leat_json_kind(item->node) != LEAT_JSON_STRING)
        return leat_component_error(item, err,
                                    "a merge must be two tokens: \"a b\" or [\"a\", \"b\"]");
    text = leat_json_string(item->node, &n);
    return leat_component_error(item, err,
                                "\"%.*s\" must be two tokens with one space between them",
                                (int)(n > 64 ? 64 : n), text);
}

static int unknown_token(const struct leat_component *item, const char *text, size_t n,
                         struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];

    return leat_component_error(item, err, "the token \"%s\" of the merge is not in the vocabulary",
                                leat_token_text((const uint8_t *)text, n, shown));
}

static uint32_t last_character(const char *text, size_t n) {
    size_t start = n - 1;

    while (start > 0 && ((uint8_t)text[start] & 0xc0) == 0x80)
        start--;
    return leat_utf8_code_point((const uint8_t *)text + start, n - start);
}

/* The bytes that some characters of GPT-2's alphabet stand for: the first ones, or the last. */
static size_t unmap(const char *text, size_t n, bool from_end, uint8_t bytes[LEAT_BPE_CONTEXT]) {
    size_t n_bytes = 0, start = from_end && n > 2 * LEAT_BPE_CONTEXT ? n - 2 * LEAT_BPE_CONTEXT : 0;
    uint8_t all[2 * LEAT_BPE_CONTEXT];

    while (start < n && ((uint8_t)text[start] & 0xc0) == 0x80)
        start++;
    for (size_t i = start; i < n && n_bytes < sizeof(all);) {
        uint32_t code = leat_utf8_code_point((const uint8_t *)text + i, n - i);

        all[n_bytes++] = (uint8_t)leat_byte_level_unmap(code);
        i += leat_utf8_length((const uint8_t *)text + i, n - i);
    }
    n = n_bytes < LEAT_BPE_CONTEXT ? n_bytes : LEAT_BPE_CONTEXT;
    memcpy(bytes, from_end ? all + n_bytes - n : all, n);
    return n;
}

static void add_join(struct leat_bpe *bpe, const struct merge *merge) {
    uint8_t left[LEAT_BPE_CONTEXT], right[LEAT_BPE_CONTEXT];

    if (bpe->can_cut) {
        leat_bpe_joins_add(&bpe->joins, last_character(merge->left, merge->n_left),
                           leat_utf8_code_point((const uint8_t *)merge->right, merge->n_right));
    } else if (bpe->can_cut_bytes) {
        size_t n_left = unmap(merge->left, merge->n_left, true, left);
        size_t n_right = unmap(merge->right, merge->n_right, false, right);

        leat_bpe_joins_add_bytes(&bpe->joins, left, n_left, right, n_right);
    }
}

/* The text that a merge makes. */
static size_t join(const struct leat_bpe *bpe, const struct merge *merge, char *joined) {
    memcpy(joined, merge->left, merge->n_left);
    memcpy(joined + merge->n_left, merge->right + bpe->n_prefix, merge->n_right - bpe->n_prefix);
    return merge->n_left + merge->n_right - bpe->n_prefix;
}

static int check_merge(const struct leat_bpe *bpe, const struct leat_component *item,
                       const struct merge *merge, struct leat_error *err) {
    if (merge->n_right < bpe->n_prefix)
        return leat_component_error(item, err,
                                    "the second part is shorter than continuing_subword_prefix");
    if (merge->n_left + merge->n_right > MERGE_BYTES_MAX)
        return leat_component_error(item, err, "the merge is longer than %d bytes",
                                    MERGE_BYTES_MAX);
    return 0;
}

/* The ids that merges have made so far. */
struct history {
    int32_t last_id; /* of the last one; -1: none */
    bool is_next;    /* it was the id after that of the one before, as in most vocabularies */
};

/* The id of what a merge makes: the next one, or to be searched for. */
static int32_t find_joined(const struct leat_bpe *bpe, const char *joined, size_t n_joined,
                           struct history *history) {
    const struct leat_token_table *tokens = &bpe->base.tokens;
    uint32_t n;
    int32_t next = history->last_id + 1;
    const uint8_t *text = leat_token_table_text(tokens, next, &n);

    history->is_next = text && n == n_joined && memcmp(text, joined, n) == 0;
    history->last_id = history->is_next ? next : leat_token_table_find(tokens, joined, n_joined);
    return history->last_id;
}

static int add_merge(struct leat_bpe *bpe, const struct leat_component *item, uint32_t rank,
                     const struct merge *merge, struct history *history, struct leat_error *err) {
    const struct leat_token_table *tokens = &bpe->base.tokens;
    int32_t left = leat_token_table_find(tokens, merge->left, merge->n_left);
    int32_t right = leat_token_table_find(tokens, merge->right, merge->n_right), id;
    char joined[MERGE_BYTES_MAX];
    size_t n_joined;
    int r = check_merge(bpe, item, merge, err);

    if (r < 0)
        return r;
    if (left < 0)
        return unknown_token(item, merge->left, merge->n_left, err);
    if (right < 0)
        return unknown_token(item, merge->right, merge->n_right, err);
    n_joined = join(bpe, merge, joined);
    id = find_joined(bpe, joined, n_joined, history);
    if (id < 0)
        return unknown_token(item, joined, n_joined, err);
    if (left >= (int32_t)LEAT_BPE_IDS_MAX || right >= (int32_t)LEAT_BPE_IDS_MAX)
        return leat_component_error(
            item, err, "the merge has a token with id %d; ids above %u cannot be merged",
            left > right ? left : right, LEAT_BPE_IDS_MAX - 1);
    leat_bpe_pairs_add(&bpe->pairs, (uint32_t)left, (uint32_t)right, rank, (uint32_t)id);
    if (merge->n_left && merge->n_right)
        add_join(bpe, merge);
    return 0;
}

static bool is_version(const struct leat_component *item) {
    static const char version[] = "#version";
    size_t n;
    const char *text;

    if (leat_json_kind(item->node) != LEAT_JSON_STRING)
        return false;
    text = leat_json_string(item->node, &n);
    return n >= sizeof(version) - 1 && memcmp(text, version, sizeof(version) - 1) == 0;
}

/* Prefetches what add_merge will search: three places in a table that no cache holds. */
static void prefetch_merge(const struct leat_bpe *bpe, struct leat_json_iterator *ahead,
                           const struct history *history) {
    const struct leat_token_table *tokens = &bpe->base.tokens;
    struct leat_json_node node;
    struct merge merge;
    char joined[64];

    if (!leat_json_next(ahead, &node) || !split(node, &merge))
        return;
    leat_token_table_prefetch(tokens, merge.left, merge.n_left);
    leat_token_table_prefetch(tokens, merge.right, merge.n_right);
    if (!history->is_next && merge.n_right >= bpe->n_prefix &&
        merge.n_left + merge.n_right <= sizeof(joined))
        leat_token_table_prefetch(tokens, joined, join(bpe, &merge, joined));
}

static int begin(struct leat_bpe *bpe, const struct leat_component *merges,
                 struct leat_error *err) {
    size_t n = leat_json_n_items(merges->node);

    if (n > LEAT_BPE_MERGES_MAX)
        return leat_component_error(merges, err, "there are %zu merges; at most %u are possible", n,
                                    LEAT_BPE_MERGES_MAX);
    if (leat_bpe_pairs_init(&bpe->pairs, (uint32_t)n, bpe->base.tokens.n_ids) < 0 ||
        ((bpe->can_cut || bpe->can_cut_bytes) && leat_bpe_joins_init(&bpe->joins, n) < 0))
        return leat_error_oom(err);
    return 0;
}

int leat_bpe_read_merges(struct leat_bpe *bpe, const struct leat_component *component,
                         struct leat_error *err) {
    struct leat_component merges, item;
    struct leat_component_iterator it;
    struct leat_json_iterator ahead;
    uint32_t rank = 0;
    struct history history = {.last_id = -1};
    int r = leat_component_child(component, "merges", LEAT_JSON_ARRAY, &merges, err);

    if (r == 0)
        r = begin(bpe, &merges, err);
    if (r < 0)
        return r;
    leat_json_iterate(merges.node, &ahead);
    for (uint32_t i = 0; i < MERGES_AHEAD; i++)
        prefetch_merge(bpe, &ahead, &history);
    leat_component_iterate(&merges, &it);
    while (r == 0 && leat_component_next(&it, &item)) {
        struct merge merge;

        prefetch_merge(bpe, &ahead, &history);
        if (is_version(&item))
            continue;
        r = split(item.node, &merge) ? add_merge(bpe, &item, rank++, &merge, &history, err)
                                     : refuse(&item, err);
    }
    if (r < 0)
        return r;
    leat_bpe_pairs_finish(&bpe->pairs);
    if (bpe->has_all_bytes && bpe->dropout == 0 &&
        leat_bpe_characters_init(&bpe->characters, &bpe->pairs, &bpe->base.tokens, bpe->single) < 0)
        r = leat_error_oom(err);
    return r;
}
