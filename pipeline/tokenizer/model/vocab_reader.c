/* vocab_reader.c: {token: id}, the `vocab` of BPE, WordPiece and WordLevel. See model.h.
 *
 * As in HF's maps, of equal texts the last one counts; ids may have holes and may repeat. Ids are
 * u32 there; those above the token table's limit are refused here.
 */
#include <errno.h>
#include <stdio.h>

#include "pipeline/tokenizer/model.h"
#include "pipeline/tokenizer/token_text.h"

#define KEY_MAX     (LEAT_TOKEN_TEXT_MAX + 4)
#define TOKEN_BYTES 8 /* on average, to begin with */
#define AHEAD       8 /* tokens whose slots are fetched */

/* The member's place: model.vocab."foo". */
static struct leat_component member(const struct leat_component *vocab, const char *token,
                                    size_t n_bytes, struct leat_json_node node, char key[KEY_MAX]) {
    char text[LEAT_TOKEN_TEXT_MAX];

    (void)snprintf(key, KEY_MAX, "\"%s\"", leat_token_text((const uint8_t *)token, n_bytes, text));
    return (struct leat_component){.node = node,
                                   .parent = vocab,
                                   .key = key,
                                   .document = vocab->document,
                                   .depth = vocab->depth + 1};
}

static bool is_id(struct leat_json_node node) {
    return leat_json_kind(node) == LEAT_JSON_INT && leat_json_int(node) >= 0 &&
           leat_json_int(node) <= LEAT_TOKEN_TABLE_ID_MAX;
}

static int refuse(const struct leat_component *component, struct leat_error *err) {
    struct leat_json_node node = component->node;

    if (leat_json_kind(node) == LEAT_JSON_INT)
        return leat_component_error(component, err, "%lld is no id: ids are 0 to %u",
                                    (long long)leat_json_int(node), LEAT_TOKEN_TABLE_ID_MAX);
    if (leat_json_kind(node) == LEAT_JSON_UINT)
        return leat_component_error(component, err, "%llu is no id: ids are 0 to %u",
                                    (unsigned long long)leat_json_uint(node),
                                    LEAT_TOKEN_TABLE_ID_MAX);
    return leat_component_error(component, err, "is %s, but an id must be an integer",
                                leat_json_kind_name(leat_json_kind(node)));
}

static int add(const struct leat_component *vocab, struct leat_token_table *tokens,
               const char *token, size_t n_bytes, struct leat_json_node node,
               struct leat_error *err) {
    struct leat_component place;
    char key[KEY_MAX];

    if (is_id(node) &&
        leat_token_table_add(tokens, token, n_bytes, (uint32_t)leat_json_int(node), err) == 0)
        return 0;
    place = member(vocab, token, n_bytes, node, key);
    return is_id(node) ? leat_component_place(&place, err) : refuse(&place, err);
}

static void prefetch(const struct leat_token_table *tokens, struct leat_json_iterator *ahead) {
    struct leat_json_node value;
    const char *token;
    size_t n_bytes;

    if (leat_json_next_member(ahead, &token, &n_bytes, &value))
        leat_token_table_prefetch(tokens, token, n_bytes);
}

int leat_model_read_vocab(const struct leat_component *component, struct leat_token_table *tokens,
                          struct leat_error *err) {
    size_t n_tokens = leat_json_n_items(component->node), n_bytes;
    struct leat_json_iterator it, ahead;
    struct leat_json_node value;
    const char *token;
    int r = 0;

    if (n_tokens > LEAT_TOKEN_TABLE_TOKENS_MAX)
        return leat_component_error(component, err, "has %zu tokens, above the limit of %u",
                                    n_tokens, LEAT_TOKEN_TABLE_TOKENS_MAX);
    if (leat_token_table_reserve(tokens, n_tokens, n_tokens * TOKEN_BYTES) < 0)
        return leat_error_oom(err);
    leat_json_iterate(component->node, &ahead);
    for (int i = 0; i < AHEAD; i++)
        prefetch(tokens, &ahead);
    leat_json_iterate(component->node, &it);
    while (r == 0 && leat_json_next_member(&it, &token, &n_bytes, &value)) {
        prefetch(tokens, &ahead);
        r = add(component, tokens, token, n_bytes, value, err);
    }
    return r;
}
