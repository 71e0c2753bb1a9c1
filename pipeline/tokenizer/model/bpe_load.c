/* bpe_load.c: the node `model` of a BPE tokenizer to tables: all that can be wrong is found here.
 *
 * Merges are ["a b", ...] with exactly one space each (lines that begin with #version are dropped,
 * as in merges.txt) or [["a", "b"], ...]. A merge's rank is its place; both parts and what they
 * become, a + b without b's prefix, must be tokens.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model/bpe.h"
#include "pipeline/tokenizer/model/bpe_load.h"
#include "pipeline/tokenizer/token_text.h"
#include "pipeline/tokenizer/utf8.h"

#define MERGE_BYTES_MAX 65535
#define MERGES_AHEAD    16 /* that are being fetched */

/* Two parts of a merge, as texts. */
struct merge {
    const char *left, *right;
    size_t n_left, n_right;
};

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

static int split_legacy(const struct leat_component *item, struct merge *ret_merge,
                        struct leat_error *err) {
    size_t n;
    const char *text = leat_json_string(item->node, &n);
    const char *space = memchr(text, ' ', n);

    if (!space || memchr(space + 1, ' ', n - (size_t)(space + 1 - text)))
        return leat_component_error(item, err,
                                    "\"%.*s\" must be two tokens with one space between them",
                                    (int)(n > 64 ? 64 : n), text);
    *ret_merge = (struct merge){.left = text,
                                .n_left = (size_t)(space - text),
                                .right = space + 1,
                                .n_right = n - (size_t)(space + 1 - text)};
    return 0;
}

static int split_pair(const struct leat_component *item, struct merge *ret_merge,
                      struct leat_error *err) {
    struct leat_json_iterator it;
    struct leat_json_node left, right;

    if (leat_json_kind(item->node) != LEAT_JSON_ARRAY || leat_json_n_items(item->node) != 2)
        return leat_component_error(item, err, "a merge is two tokens: \"a b\" or [\"a\", \"b\"]");
    leat_json_iterate(item->node, &it);
    (void)leat_json_next(&it, &left);
    (void)leat_json_next(&it, &right);
    if (leat_json_kind(left) != LEAT_JSON_STRING || leat_json_kind(right) != LEAT_JSON_STRING)
        return leat_component_error(item, err, "the two parts of a merge must be strings");
    ret_merge->left = leat_json_string(left, &ret_merge->n_left);
    ret_merge->right = leat_json_string(right, &ret_merge->n_right);
    return 0;
}

static int unknown_token(const struct leat_component *item, const char *text, size_t n,
                         struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];

    return leat_component_error(item, err, "token \"%s\" of the merge is not in the vocabulary",
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

        all[n_bytes++] = leat_bpe_unmap(code);
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

static int add_merge(struct leat_bpe *bpe, const struct leat_component *item, uint32_t rank,
                     const struct merge *merge, struct leat_error *err) {
    const struct leat_token_table *tokens = &bpe->model.tokens;
    int32_t left = leat_token_table_find(tokens, merge->left, merge->n_left);
    int32_t right = leat_token_table_find(tokens, merge->right, merge->n_right), id;
    char joined[MERGE_BYTES_MAX];
    size_t n_joined;

    if (left < 0)
        return unknown_token(item, merge->left, merge->n_left, err);
    if (right < 0)
        return unknown_token(item, merge->right, merge->n_right, err);
    if (merge->n_right < bpe->n_prefix)
        return leat_component_error(item, err,
                                    "the second part is shorter than continuing_subword_prefix");
    n_joined = merge->n_left + merge->n_right - bpe->n_prefix;
    if (n_joined > sizeof(joined))
        return leat_component_error(item, err, "the merge makes a token of %zu bytes, above %d",
                                    n_joined, MERGE_BYTES_MAX);
    memcpy(joined, merge->left, merge->n_left);
    memcpy(joined + merge->n_left, merge->right + bpe->n_prefix, merge->n_right - bpe->n_prefix);
    id = leat_token_table_find(tokens, joined, n_joined);
    if (id < 0)
        return unknown_token(item, joined, n_joined, err);
    if (left >= (int32_t)LEAT_BPE_IDS_MAX || right >= (int32_t)LEAT_BPE_IDS_MAX)
        return leat_component_error(item, err, "id %d of a token that is merged is above %u",
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

/* Has what add_merge will look for fetched: three places in a table that no cache holds. */
static void prefetch_merge(const struct leat_bpe *bpe, struct leat_component_iterator *ahead) {
    const struct leat_token_table *tokens = &bpe->model.tokens;
    struct leat_component item;
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct merge merge;
    char joined[64];
    int r;

    if (!leat_component_next(ahead, &item))
        return;
    r = leat_json_kind(item.node) == LEAT_JSON_STRING ? split_legacy(&item, &merge, &ignored)
                                                      : split_pair(&item, &merge, &ignored);
    if (r < 0 || merge.n_right < bpe->n_prefix || merge.n_left + merge.n_right > sizeof(joined))
        return;
    leat_token_table_prefetch(tokens, merge.left, merge.n_left);
    leat_token_table_prefetch(tokens, merge.right, merge.n_right);
    memcpy(joined, merge.left, merge.n_left);
    memcpy(joined + merge.n_left, merge.right + bpe->n_prefix, merge.n_right - bpe->n_prefix);
    leat_token_table_prefetch(tokens, joined, merge.n_left + merge.n_right - bpe->n_prefix);
}

static int read_merges(struct leat_bpe *bpe, const struct leat_component *component,
                       struct leat_error *err) {
    struct leat_component merges, item;
    struct leat_component_iterator it, ahead;
    uint32_t rank = 0;
    size_t n;
    int r = leat_component_child(component, "merges", LEAT_JSON_ARRAY, &merges, err);

    if (r < 0)
        return r;
    n = leat_json_n_items(merges.node);
    if (n > LEAT_BPE_MERGES_MAX)
        return leat_component_error(&merges, err, "%zu merges, above %u", n, LEAT_BPE_MERGES_MAX);
    if (leat_bpe_pairs_init(&bpe->pairs, (uint32_t)n) < 0 ||
        ((bpe->can_cut || bpe->can_cut_bytes) && leat_bpe_joins_init(&bpe->joins, n) < 0))
        return leat_error_oom(err);
    leat_component_iterate(&merges, &ahead);
    for (uint32_t i = 0; i < MERGES_AHEAD; i++)
        prefetch_merge(bpe, &ahead);
    leat_component_iterate(&merges, &it);
    while (r == 0 && leat_component_next(&it, &item)) {
        struct merge merge;

        prefetch_merge(bpe, &ahead);
        if (is_version(&item))
            continue;
        if (leat_json_kind(item.node) == LEAT_JSON_STRING)
            r = split_legacy(&item, &merge, err);
        else
            r = split_pair(&item, &merge, err);
        if (r == 0)
            r = add_merge(bpe, &item, rank++, &merge, err);
    }
    return r;
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
        bpe->has_all_bytes = bpe->has_all_bytes && bpe->single[i] >= 0;
    bpe->can_cut = !bpe->is_byte_level && !bpe->n_prefix && !bpe->n_suffix && bpe->dropout == 0 &&
                   !bpe->ignore_merges;
    bpe->can_cut_bytes = bpe->has_all_bytes && bpe->dropout == 0;
    bpe->knows_marker = leat_token_table_find(&bpe->model.tokens, "\xe2\x96\x81", 3) >= 0;
    r = check_fallback(bpe, component, err);
    return r < 0 ? r : read_merges(bpe, component, err);
}
