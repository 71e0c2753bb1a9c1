/* word_trie.c: see word_trie.h. Tokens are sorted by their first eight bytes as a number, byte
 * by byte from the last, and only those that agree in all eight are compared. The keys of the
 * double array are cut where they differ from both neighbours; their values are places in the
 * sorted list. */
#include "pipeline/tokenizer/model/word_trie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/token_encoding.h"

#define TAIL_MAX 255

struct entry {
    uint64_t first; /* bytes, as a big-endian number */
    struct leat_double_array_key key;
};

struct keys {
    struct entry *entries, *spare;     /* sorted; as many more */
    struct leat_double_array_key *cut; /* the same, as far as they have nodes */
    uint8_t *pool;                     /* of decoded tokens */
    size_t n;
};

static void keys_deinit(struct keys *keys) {
    free(keys->entries);
    free(keys->spare);
    free(keys->cut);
    free(keys->pool);
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

/* ---- sorting */

static int compare(const void *a, const void *b) {
    return leat_double_array_compare(&((const struct entry *)a)->key,
                                     &((const struct entry *)b)->key);
}

static uint8_t digit(const struct entry *entry, int shift) {
    return (uint8_t)(entry->first >> shift);
}

/* One pass of a radix sort: from entries to spare, and swaps the two. */
static void sort_by_digit(struct keys *keys, int shift) {
    size_t starts[256] = {0}, n = 0;
    struct entry *sorted = keys->spare;

    for (size_t i = 0; i < keys->n; i++)
        starts[digit(&keys->entries[i], shift)]++;
    if (starts[digit(&keys->entries[0], shift)] == keys->n)
        return;
    for (int c = 0; c < 256; c++) {
        size_t count = starts[c];

        starts[c] = n;
        n += count;
    }
    for (size_t i = 0; i < keys->n; i++)
        sorted[starts[digit(&keys->entries[i], shift)]++] = keys->entries[i];
    keys->spare = keys->entries;
    keys->entries = sorted;
}

static void sort(struct keys *keys) {
    size_t end;

    for (int shift = 0; keys->n && shift < 64; shift += 8)
        sort_by_digit(keys, shift);
    for (size_t i = 0; i < keys->n; i = end) {
        for (end = i + 1; end < keys->n && keys->entries[end].first == keys->entries[i].first;)
            end++;
        if (end - i > 1)
            qsort(keys->entries + i, end - i, sizeof(*keys->entries), compare);
    }
}

static int keys_init(struct keys *keys, const struct leat_token_table *tokens, bool is_byte_level) {
    *keys = (struct keys){.entries = malloc((tokens->n_tokens + 1) * sizeof(*keys->entries)),
                          .spare = malloc((tokens->n_tokens + 1) * sizeof(*keys->spare)),
                          .cut = malloc((tokens->n_tokens + 1) * sizeof(*keys->cut)),
                          .pool = is_byte_level ? malloc(tokens->n_pool + 1) : NULL};
    if (!keys->entries || !keys->spare || !keys->cut || (is_byte_level && !keys->pool))
        return -ENOMEM;
    collect(keys, tokens, is_byte_level);
    sort(keys);
    return 0;
}

static uint32_t longest(const struct keys *keys) {
    uint32_t n = 0;

    for (size_t i = 0; i < keys->n; i++)
        if (keys->entries[i].key.n_bytes > n)
            n = keys->entries[i].key.n_bytes;
    return n;
}

/* Bytes at the start that both have. */
static uint32_t common(const struct leat_double_array_key *a,
                       const struct leat_double_array_key *b) {
    uint32_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes, i = 0;

    while (i < n && a->bytes[i] == b->bytes[i])
        i++;
    return i;
}

/* Bytes of a key that have nodes: one more than it shares with its neighbours or with the prefix,
 * and all but TAIL_MAX. */
static uint32_t cut_length(const struct leat_double_array_key *key, uint32_t n_shared,
                           const struct leat_double_array_key *prefix) {
    uint32_t n_prefix = common(key, prefix);

    if (n_prefix == prefix->n_bytes && n_prefix > n_shared)
        n_shared = n_prefix;
    if (key->n_bytes > TAIL_MAX && n_shared + 1 < key->n_bytes - TAIL_MAX)
        return key->n_bytes - TAIL_MAX;
    return n_shared < key->n_bytes ? n_shared + 1 : key->n_bytes;
}

static void cut(struct keys *keys, const struct leat_double_array_key *prefix) {
    uint32_t n_before = 0;

    for (size_t i = 0; i < keys->n; i++) {
        const struct leat_double_array_key *key = &keys->entries[i].key;
        uint32_t n_behind = i + 1 < keys->n ? common(key, &keys->entries[i + 1].key) : 0;

        keys->cut[i] = *key;
        keys->cut[i].n_bytes = cut_length(key, n_before > n_behind ? n_before : n_behind, prefix);
        keys->cut[i].value = (uint32_t)i;
        n_before = n_behind;
    }
}

static size_t tails_bytes(const struct keys *keys) {
    size_t n = 1;

    for (size_t i = 0; i < keys->n; i++)
        if (keys->cut[i].n_bytes < keys->entries[i].key.n_bytes)
            n += 1 + keys->entries[i].key.n_bytes - keys->cut[i].n_bytes;
    return n;
}

/* Writes the tail of a key. Returns its place. */
static uint32_t add_tail(struct leat_word_trie *trie, const struct leat_double_array_key *key,
                         uint32_t n_cut) {
    uint8_t *tail = trie->tails + trie->n_tails;
    uint32_t n = key->n_bytes - n_cut;

    tail[0] = (uint8_t)n;
    memcpy(tail + 1, key->bytes + n_cut, n);
    trie->n_tails += 1 + n;
    return (uint32_t)(tail - trie->tails);
}

/* Values from places in the list to ids; bits and tails. */
static void finish(struct leat_word_trie *trie, const struct keys *keys) {
    for (uint32_t i = 0; i < trie->n_nodes; i++) {
        uint32_t place = trie->ids[i];
        const struct leat_double_array_key *key;

        if (place == LEAT_DOUBLE_ARRAY_NONE)
            continue;
        key = &keys->entries[place].key;
        trie->ids[i] = key->value;
        if (keys->cut[place].n_bytes == key->n_bytes)
            trie->nodes[i].base |= LEAT_WORD_TRIE_END;
        else
            trie->nodes[i].base =
                LEAT_WORD_TRIE_TAIL | add_tail(trie, key, keys->cut[place].n_bytes);
    }
}

static int build(struct leat_word_trie *trie, const struct keys *keys, struct leat_error *err) {
    struct leat_double_array array;
    int r = leat_double_array_build(&array, keys->cut, keys->n, err);

    if (r < 0)
        return r;
    trie->nodes = array.nodes;
    trie->ids = array.values;
    trie->n_nodes = array.n_nodes;
    array.nodes = NULL;
    array.values = NULL;
    leat_double_array_deinit(&array);
    trie->n_longest = longest(keys);
    trie->tails = malloc(tails_bytes(keys));
    if (!trie->tails)
        return leat_error_oom(err);
    finish(trie, keys);
    return 0;
}

int leat_word_trie_build(struct leat_word_trie *trie, const struct leat_token_table *tokens,
                         bool is_byte_level, const void *prefix, size_t n_prefix,
                         struct leat_error *err) {
    struct leat_double_array_key start = {.bytes = prefix, .n_bytes = (uint32_t)n_prefix};
    struct keys keys;
    int r;

    *trie = (struct leat_word_trie){.nodes = NULL};
    r = keys_init(&keys, tokens, is_byte_level);
    if (r < 0) {
        r = leat_error_oom(err);
    } else if (longest(&keys) > LEAT_WORD_TRIE_TOKEN_MAX) {
        r = leat_error_set(err, -E2BIG, "a token has %u bytes; at most %u are possible",
                           longest(&keys), LEAT_WORD_TRIE_TOKEN_MAX);
    } else {
        cut(&keys, &start);
        r = build(trie, &keys, err);
    }
    keys_deinit(&keys);
    if (r < 0)
        leat_word_trie_deinit(trie);
    return r;
}

void leat_word_trie_deinit(struct leat_word_trie *trie) {
    free(trie->nodes);
    free(trie->ids);
    free(trie->tails);
    *trie = (struct leat_word_trie){.nodes = NULL};
}

size_t leat_word_trie_n_bytes(const struct leat_word_trie *trie) {
    return trie->n_nodes * (sizeof(*trie->nodes) + sizeof(*trie->ids)) + trie->n_tails;
}

uint32_t leat_word_trie_base(const struct leat_word_trie *trie, const void *bytes, size_t n_bytes) {
    const uint8_t *text = bytes;
    uint32_t base = LEAT_WORD_TRIE_ROOT;

    for (size_t i = 0; i < n_bytes; i++) {
        uint32_t node = leat_word_trie_step(trie, base, text[i]);

        if (!node || trie->nodes[node].base & LEAT_WORD_TRIE_TAIL)
            return 0;
        base = trie->nodes[node].base & LEAT_WORD_TRIE_BASE;
    }
    return base;
}

int32_t leat_word_trie_find(const struct leat_word_trie *trie, const uint8_t *bytes,
                            uint32_t n_bytes) {
    uint32_t base = LEAT_WORD_TRIE_ROOT, node = 0;

    for (uint32_t i = 0; i < n_bytes; i++) {
        node = leat_word_trie_step(trie, base & LEAT_WORD_TRIE_BASE, bytes[i]);
        if (!node)
            return -1;
        base = trie->nodes[node].base;
        if (base & LEAT_WORD_TRIE_TAIL) {
            uint32_t n_left = n_bytes - i - 1;

            if (leat_word_trie_tail(trie, base, bytes + i + 1, n_left) < n_left || n_left == 0)
                return -1;
            return (int32_t)trie->ids[node];
        }
    }
    return base & LEAT_WORD_TRIE_END ? (int32_t)trie->ids[node] : -1;
}
