/* added_matcher.c: a sieve over pairs of bytes, and a trie behind it. See added_matcher.h.
 *
 * Each first byte of a pattern belongs to one of eight buckets (to one alone where there are no
 * more than eight); a bucket knows the second bytes of its patterns. A place passes the sieve if
 * some bucket has its byte as first and the next one as second. The vector sieve looks up nibbles,
 * so it lets a few more places through; it never loses one.
 */
#include "pipeline/tokenizer/added/added_matcher.h"

#include <stdlib.h>

#include "proto/base/simd.h"

static int compare_patterns(const void *a, const void *b) {
    const struct leat_double_array_key *left = a, *right = b;
    int order = leat_double_array_compare(left, right);

    return order ? order : (left->value > right->value) - (left->value < right->value);
}

static void add_to_bucket(struct leat_added_matcher *matcher, uint8_t bucket,
                          const struct leat_added_pattern *pattern) {
    uint8_t first = pattern->bytes[0];

    matcher->first[first] |= bucket;
    matcher->nibbles[0][first & 15] |= bucket;
    matcher->nibbles[1][first >> 4] |= bucket;
    if (pattern->n_bytes > 1) {
        uint8_t second = pattern->bytes[1];

        matcher->second[second] |= bucket;
        matcher->nibbles[2][second & 15] |= bucket;
        matcher->nibbles[3][second >> 4] |= bucket;
        return;
    }
    for (uint32_t i = 0; i < 256; i++)
        matcher->second[i] |= bucket;
    for (uint32_t i = 0; i < 16; i++) {
        matcher->nibbles[2][i] |= bucket;
        matcher->nibbles[3][i] |= bucket;
    }
}

static void build_sieve(struct leat_added_matcher *matcher,
                        const struct leat_added_pattern *patterns, size_t n_patterns) {
    uint8_t buckets[256] = {0};
    uint32_t n_firsts = 0;

    for (size_t i = 0; i < n_patterns; i++) {
        uint8_t first = patterns[i].bytes[0];

        if (!buckets[first])
            buckets[first] = (uint8_t)(1u << (n_firsts++ % 8));
        add_to_bucket(matcher, buckets[first], &patterns[i]);
    }
}

int leat_added_matcher_init(struct leat_added_matcher *matcher,
                            const struct leat_added_pattern *patterns, size_t n_patterns,
                            struct leat_error *err) {
    struct leat_double_array_key *keys;
    size_t n = 0;
    int r;

    *matcher = (struct leat_added_matcher){.is_empty = n_patterns == 0};
    if (n_patterns == 0)
        return 0;
    keys = calloc(n_patterns, sizeof(*keys));
    if (!keys)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_patterns; i++)
        keys[i] = (struct leat_double_array_key){
            .bytes = patterns[i].bytes, .n_bytes = patterns[i].n_bytes, .value = (uint32_t)i};
    qsort(keys, n_patterns, sizeof(*keys), compare_patterns);
    for (size_t i = 0; i < n_patterns; i++)
        if (n == 0 || leat_double_array_compare(&keys[n - 1], &keys[i]) != 0)
            keys[n++] = keys[i];
    for (size_t i = 0; i < n; i++)
        keys[i].value = patterns[keys[i].value].value;
    r = leat_double_array_build(&matcher->trie, keys, n, err);
    free(keys);
    build_sieve(matcher, patterns, n_patterns);
    return r;
}

void leat_added_matcher_deinit(struct leat_added_matcher *matcher) {
    leat_double_array_deinit(&matcher->trie);
}

size_t leat_added_matcher_n_bytes(const struct leat_added_matcher *matcher) {
    return (size_t)matcher->trie.n_nodes * (sizeof(*matcher->trie.nodes) + sizeof(uint32_t)) +
           (size_t)matcher->trie.n_order * 2 * sizeof(uint32_t);
}

/* The longest pattern at a place, or NONE. */
static uint32_t match_at(const struct leat_added_matcher *matcher,
                         const struct leat_text_view *text, uint32_t at, uint32_t *ret_end) {
    const struct leat_double_array *trie = &matcher->trie;
    uint32_t base = LEAT_DOUBLE_ARRAY_ROOT, found = LEAT_ADDED_MATCHER_NONE;

    for (uint32_t i = at; i < text->n_bytes; i++) {
        uint32_t node = base ^ text->bytes[i];

        if (trie->nodes[node].check != base)
            break;
        if (trie->values[node] != LEAT_DOUBLE_ARRAY_NONE) {
            found = trie->values[node];
            *ret_end = i + 1;
        }
        base = trie->nodes[node].base;
        if (base == 0)
            break;
    }
    return found;
}

static uint32_t sieve_portable(const struct leat_added_matcher *matcher, const uint8_t *bytes,
                               uint32_t from, uint32_t end) {
    while (from < end && !(matcher->first[bytes[from]] & matcher->second[bytes[from + 1]]))
        from++;
    return from;
}

LEAT_SIMD static uint32_t sieve_simd(const struct leat_added_matcher *matcher, const uint8_t *bytes,
                                     uint32_t from, uint32_t end) {
    for (; from < end; from += 32) {
        leat_bytes32 first = leat_bytes32_load(bytes + from);
        leat_bytes32 second = leat_bytes32_load(bytes + from + 1);
        leat_bytes32 hits = leat_bytes32_both(leat_bytes32_look_up(matcher->nibbles, first),
                                              leat_bytes32_look_up(matcher->nibbles + 2, second));
        uint32_t misses = leat_bytes32_mask(leat_bytes32_equal(hits, 0));

        if (misses != UINT32_MAX)
            return from + (uint32_t)__builtin_ctz(~misses);
    }
    return end;
}

uint32_t leat_added_matcher_find(const struct leat_added_matcher *matcher,
                                 const struct leat_text_view *text, uint32_t from,
                                 struct leat_range *ret_match) {
    bool has_simd = leat_simd_is_here();

    if (matcher->is_empty)
        return LEAT_ADDED_MATCHER_NONE;
    for (;; from++) {
        uint32_t found;

        from = has_simd ? sieve_simd(matcher, text->bytes, from, text->n_bytes)
                        : sieve_portable(matcher, text->bytes, from, text->n_bytes);
        if (from >= text->n_bytes)
            return LEAT_ADDED_MATCHER_NONE;
        found = match_at(matcher, text, from, &ret_match->end);
        if (found != LEAT_ADDED_MATCHER_NONE) {
            ret_match->start = from;
            return found;
        }
    }
}
