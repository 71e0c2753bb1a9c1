/* word_trie.c: see word_trie.h. Keys are sorted by their first eight bytes as a number, which tells
 * nearly all of them apart. */
#include "pipeline/tokenizer/model/word_trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/token_encoding.h"

#define END LEAT_WORD_TRIE_END

struct entry {
    uint64_t first; /* bytes, as a big-endian number */
    struct leat_double_array_key key;
};

struct keys {
    struct entry *entries;
    struct leat_double_array_key *sorted;
    uint8_t *pool; /* of decoded tokens */
    size_t n;
};

static void keys_deinit(struct keys *keys) {
    free(keys->entries);
    free(keys->sorted);
    free(keys->pool);
}

static int compare(const void *a, const void *b) {
    const struct entry *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return leat_double_array_compare(&x->key, &y->key);
}

static void add_key(struct keys *keys, const uint8_t *bytes, size_t n_bytes, uint32_t id) {
    uint64_t first = 0;

    if (n_bytes == 0)
        return;
    memcpy(&first, bytes, n_bytes < 8 ? n_bytes : 8);
    keys->entries[keys->n++] =
        (struct entry){.first = __builtin_bswap64(first),
                       .key = {.bytes = bytes, .n_bytes = (uint32_t)n_bytes, .value = id}};
}

/* False if the token is not all in GPT-2's alphabet. */
static bool decode(const uint8_t *token, size_t n_bytes, uint8_t *ret_bytes, size_t *ret_n) {
    bool is_byte;

    *ret_n = leat_token_decode(LEAT_TOKEN_ENCODING_BYTE_LEVEL, token, n_bytes, ret_bytes, &is_byte);
    if (*ret_n < n_bytes)
        return true;
    for (size_t i = 0; i < n_bytes; i++) /* as it was: it is ASCII, or could not be decoded */
        if (token[i] < 0x21 || token[i] > 0x7e)
            return false;
    return true;
}

static void collect(struct keys *keys, const struct leat_token_table *tokens, bool is_byte_level) {
    uint8_t *pool = keys->pool;

    for (uint32_t i = 0; i < tokens->n_tokens; i++) {
        const uint8_t *text = tokens->pool + tokens->texts[i].start;
        size_t n = tokens->texts[i].n_bytes;

        if (is_byte_level) {
            if (!decode(text, n, pool, &n))
                continue;
            text = pool;
            pool += n;
        }
        add_key(keys, text, n, tokens->texts[i].id);
    }
}

static int keys_init(struct keys *keys, const struct leat_token_table *tokens, bool is_byte_level) {
    *keys = (struct keys){.entries = malloc((tokens->n_tokens + 1) * sizeof(*keys->entries)),
                          .sorted = malloc((tokens->n_tokens + 1) * sizeof(*keys->sorted)),
                          .pool = is_byte_level ? malloc(tokens->n_pool + 1) : NULL};
    if (!keys->entries || !keys->sorted || (is_byte_level && !keys->pool))
        return -ENOMEM;
    collect(keys, tokens, is_byte_level);
    qsort(keys->entries, keys->n, sizeof(*keys->entries), compare);
    for (size_t i = 0; i < keys->n; i++)
        keys->sorted[i] = keys->entries[i].key;
    return 0;
}

static uint32_t longest(const struct keys *keys) {
    uint32_t n = 0;

    for (size_t i = 0; i < keys->n; i++)
        if (keys->sorted[i].n_bytes > n)
            n = keys->sorted[i].n_bytes;
    return n;
}

/* Takes the array's nodes and values. */
static void take(struct leat_word_trie *trie, struct leat_double_array *take_array) {
    trie->nodes = take_array->nodes;
    trie->ids = take_array->values;
    trie->n_nodes = take_array->n_nodes;
    take_array->nodes = NULL;
    take_array->values = NULL;
    leat_double_array_deinit(take_array);
    for (uint32_t i = 0; i < trie->n_nodes; i++)
        if (trie->ids[i] != LEAT_DOUBLE_ARRAY_NONE)
            trie->nodes[i].base |= END;
}

int leat_word_trie_build(struct leat_word_trie *trie, const struct leat_token_table *tokens,
                         bool is_byte_level, struct leat_error *err) {
    struct leat_double_array array;
    struct keys keys;
    int r;

    *trie = (struct leat_word_trie){.nodes = NULL};
    r = keys_init(&keys, tokens, is_byte_level);
    if (r < 0)
        r = leat_error_oom(err);
    if (r == 0)
        r = leat_double_array_build(&array, keys.sorted, keys.n, err);
    if (r == 0) {
        take(trie, &array);
        trie->n_longest = longest(&keys);
    }
    keys_deinit(&keys);
    return r;
}

void leat_word_trie_deinit(struct leat_word_trie *trie) {
    free(trie->nodes);
    free(trie->ids);
    *trie = (struct leat_word_trie){.nodes = NULL};
}

size_t leat_word_trie_n_bytes(const struct leat_word_trie *trie) {
    return trie->n_nodes * (sizeof(*trie->nodes) + sizeof(*trie->ids));
}

/* The last node of a walk along the bytes, or 0. */
static uint32_t walk(const struct leat_word_trie *trie, const uint8_t *bytes, size_t n_bytes) {
    uint32_t base = LEAT_WORD_TRIE_ROOT, node = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        node = leat_word_trie_step(trie, base, bytes[i]);
        if (!node)
            return 0;
        base = trie->nodes[node].base & ~END;
    }
    return node;
}

uint32_t leat_word_trie_base(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes) {
    uint32_t node = walk(trie, bytes, n_bytes);

    if (n_bytes == 0)
        return LEAT_WORD_TRIE_ROOT;
    return node ? trie->nodes[node].base & ~END : 0;
}

int32_t leat_word_trie_find(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes) {
    uint32_t node = walk(trie, bytes, n_bytes);

    return node && trie->nodes[node].base & END ? (int32_t)trie->ids[node] : -1;
}
