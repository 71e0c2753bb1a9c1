/* The modes of the CharTrie against brute force: every token is tried at every place, no trie, no
 * window. Vocabularies and texts are random over small alphabets, so that ties, unknown characters
 * and bytes that are no UTF-8 abound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "proto/base/utf8.h"
#include "tests/pipeline/shared_chartrie.h"

#define UNK           1000000 /* id of unknown characters */
#define TOKENS_MAX    400
#define TOKEN_MAX     1200
#define TEXT_MAX      800000
#define EDGES_MAX     64
#define NO_WAY        UINT32_MAX
#define SHORT_TOKEN   32 /* bytes of a token at most in texts that are sampled */
#define N_ROUNDS      400
#define N_TEXTS       8
#define N_LONG_ROUNDS 6

struct reference {
    uint8_t tokens[TOKENS_MAX][TOKEN_MAX];
    size_t sizes[TOKENS_MAX];
    double costs[TOKENS_MAX];
    size_t n_tokens;
    bool has_costs;
};

static struct reference reference;

static int find_token(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < reference.n_tokens; i++)
        if (reference.sizes[i] == n && memcmp(reference.tokens[i], bytes, n) == 0)
            return (int)i;
    return -1;
}

static bool begins(size_t token, const uint8_t *text, size_t n) {
    return reference.sizes[token] <= n &&
           memcmp(reference.tokens[token], text, reference.sizes[token]) == 0;
}

static void add_token(const uint8_t *bytes, size_t n, double cost) {
    if (n == 0 || find_token(bytes, n) >= 0)
        return;
    memcpy(reference.tokens[reference.n_tokens], bytes, n);
    reference.costs[reference.n_tokens] = cost;
    reference.sizes[reference.n_tokens++] = n;
}

static void build(struct test_trie *test, const struct leat_chartrie_options *options) {
    char *lines = malloc(reference.n_tokens * (TOKEN_MAX + 1) + 1);
    char *scores = malloc(reference.n_tokens * 40 + 1);
    size_t n_bytes = 0, n_scores = 0;

    for (size_t i = 0; i < reference.n_tokens; i++) {
        memcpy(lines + n_bytes, reference.tokens[i], reference.sizes[i]);
        n_bytes += reference.sizes[i];
        lines[n_bytes++] = '\n';
        n_scores += (size_t)sprintf(scores + n_scores, "%.17g\n", reference.costs[i]);
    }
    test_trie_init(test, lines, n_bytes, reference.has_costs ? scores : NULL, options);
    free(lines);
    free(scores);
}

struct way {
    double cost;
    uint32_t n_unknown;
    size_t before;
    int id;
};

static void relax(struct way *to, const struct way *from, size_t before, double cost, int id) {
    uint32_t n_unknown = from->n_unknown + (id == UNK);

    if (n_unknown < to->n_unknown || (n_unknown == to->n_unknown && from->cost + cost < to->cost))
        *to = (struct way){from->cost + cost, n_unknown, before, id};
}

static void reverse(int32_t *ids, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        int32_t id = ids[i];

        ids[i] = ids[n - 1 - i];
        ids[n - 1 - i] = id;
    }
}

static size_t reference_shortest(const uint8_t *text, size_t n, int32_t *ids) {
    struct way *ways = malloc((n + 1) * sizeof(*ways));
    size_t n_ids = 0;

    for (size_t i = 0; i <= n; i++)
        ways[i] = (struct way){0, i ? NO_WAY : 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        if (ways[i].n_unknown == NO_WAY)
            continue;
        for (size_t t = 0; t < reference.n_tokens; t++)
            if (begins(t, text + i, n - i))
                relax(&ways[i + reference.sizes[t]], &ways[i], i,
                      reference.has_costs ? reference.costs[t] : 1.0, (int)t);
        relax(&ways[i + leat_utf8_length(text + i, n - i)], &ways[i], i, 0, UNK);
    }
    for (size_t i = n; i > 0; i = ways[i].before)
        ids[n_ids++] = ways[i].id;
    reverse(ids, n_ids);
    free(ways);
    return n_ids;
}

static size_t reference_greedy(const uint8_t *text, size_t n, int32_t *ids) {
    size_t n_ids = 0;

    for (size_t i = 0; i < n;) {
        size_t longest = 0;

        ids[n_ids] = UNK;
        for (size_t t = 0; t < reference.n_tokens; t++)
            if (begins(t, text + i, n - i) && reference.sizes[t] > longest) {
                longest = reference.sizes[t];
                ids[n_ids] = (int32_t)t;
            }
        n_ids++;
        i += longest ? longest : leat_utf8_length(text + i, n - i);
    }
    return n_ids;
}

/* The edges from a position, from the longest token to the shortest, the unknown character last. */
struct edges {
    int ids[EDGES_MAX];
    size_t ends[EDGES_MAX];
    size_t n;
};

static void find_edges(const uint8_t *text, size_t n, size_t i, struct edges *edges) {
    size_t length = leat_utf8_length(text + i, n - i);

    edges->n = 0;
    for (size_t size = SHORT_TOKEN; size > 0; size--) {
        int token = size <= n - i ? find_token(text + i, size) : -1;

        if (token < 0)
            continue;
        edges->ends[edges->n] = i + size;
        edges->ids[edges->n++] = token;
    }
    if (find_token(text + i, length) >= 0)
        return;
    edges->ends[edges->n] = i + length;
    edges->ids[edges->n++] = UNK;
}

static double weight(int id) {
    return reference.has_costs && id != UNK ? exp(-reference.costs[id]) : 1.0;
}

/* Keeps the edges with the fewest unknown characters; returns their number. */
static uint32_t keep_least(struct edges *edges, const uint32_t *n_unknown) {
    uint32_t least = NO_WAY;
    size_t n = 0;

    for (size_t e = 0; e < edges->n; e++) {
        uint32_t u = n_unknown[edges->ends[e]];

        if (u != NO_WAY && u + (edges->ids[e] == UNK) < least)
            least = u + (edges->ids[e] == UNK);
    }
    for (size_t e = 0; e < edges->n; e++)
        if (n_unknown[edges->ends[e]] + (edges->ids[e] == UNK) == least) {
            edges->ids[n] = edges->ids[e];
            edges->ends[n++] = edges->ends[e];
        }
    edges->n = n;
    return least;
}

/* The procedure of segment_random.c for one window, without exponents of its own: sums round in the
 * same way as long as nothing leaves the range of a double, which short texts do not. */
static size_t reference_random(const uint8_t *text, size_t n, uint64_t key, int32_t *ids) {
    struct leat_rng rng = {.state = key};
    double *mass = calloc(n + 5, sizeof(*mass));
    uint32_t *n_unknown = malloc((n + 5) * sizeof(*n_unknown));
    size_t n_ids = 0;
    struct edges edges;

    memset(n_unknown, 0xff, (n + 5) * sizeof(*n_unknown));
    mass[n] = 1;
    n_unknown[n] = 0;
    for (size_t i = n; i-- > 0;) {
        find_edges(text, n, i, &edges);
        n_unknown[i] = keep_least(&edges, n_unknown);
        for (size_t e = 0; e < edges.n; e++)
            mass[i] += weight(edges.ids[e]) * mass[edges.ends[e]];
    }
    for (size_t i = 0; i < n;) {
        double r = leat_rng_unit(&rng) * mass[i], sum = 0;
        size_t taken = 0;

        find_edges(text, n, i, &edges);
        keep_least(&edges, n_unknown);
        for (; taken < edges.n; taken++) {
            sum += weight(edges.ids[taken]) * mass[edges.ends[taken]];
            if (sum > r)
                break;
        }
        assert_true(taken < edges.n);
        ids[n_ids++] = edges.ids[taken];
        i = edges.ends[taken];
    }
    free(mass);
    free(n_unknown);
    return n_ids;
}

/* Characters of one to three bytes, and bytes that are no UTF-8. */
static size_t make_text(struct leat_rng *rng, uint8_t *text, size_t n, uint64_t n_kinds) {
    static const char *const kinds[] = {"a",    "b",    "c", "\xc3\xa9", "\xe2\x82\xac",
                                        "\xff", "\xe2", " ", "d"};
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const char *kind = kinds[leat_rng_below(rng, n_kinds)];

        memcpy(text + at, kind, strlen(kind));
        at += strlen(kind);
    }
    return at;
}

static void make_vocabulary(struct leat_rng *rng, uint64_t n_kinds, bool has_costs) {
    size_t n = 1 + leat_rng_below(rng, 40);
    uint8_t token[SHORT_TOKEN];

    reference.n_tokens = 0;
    reference.has_costs = has_costs;
    for (size_t i = 0; i < n; i++) {
        size_t size = make_text(rng, token, 1 + leat_rng_below(rng, 6), n_kinds);
        double cost = (double)leat_rng_below(rng, 9) / 2 - 0.5;

        if (leat_rng_below(rng, 4) == 0 && size > 1)
            size--; /* a character cut in two */
        add_token(token, size, cost);
    }
}

static void check_equal(struct test_trie *test, const uint8_t *text, size_t n, uint64_t key,
                        const int32_t *ids, size_t n_ids) {
    struct leat_encoder_row row = test_trie_encode(test, text, n, key);

    assert_int_equal(row.unknown, LEAT_ENCODER_NO_UNKNOWN);
    assert_int_equal(row.n_ids, n_ids);
    if (n_ids)
        assert_memory_equal(test->encoder.ids + row.first_id, ids, n_ids * sizeof(*ids));
}

static size_t refer(enum leat_chartrie_mode mode, const uint8_t *text, size_t n, uint64_t key,
                    int32_t *ids) {
    if (mode == LEAT_CHARTRIE_RANDOM)
        return reference_random(text, n, key, ids);
    return mode == LEAT_CHARTRIE_GREEDY ? reference_greedy(text, n, ids)
                                        : reference_shortest(text, n, ids);
}

static const struct leat_chartrie_options plain = {.mode = LEAT_CHARTRIE_SHORTEST,
                                                   .unknown = LEAT_CHARTRIE_UNK,
                                                   .unk_id = UNK,
                                                   .bos_id = -1,
                                                   .eos_id = -1};

static void check_mode(enum leat_chartrie_mode mode, bool has_costs, uint64_t seed) {
    struct leat_chartrie_options options = plain;
    struct leat_rng rng = {.state = seed};
    static uint8_t text[2000];
    static int32_t ids[2000];

    options.mode = mode;
    for (int round = 0; round < N_ROUNDS; round++) {
        uint64_t n_kinds = 1 + leat_rng_below(&rng, 9);
        struct test_trie test;

        make_vocabulary(&rng, n_kinds, has_costs);
        build(&test, &options);
        if (leat_rng_below(&rng, 2))
            n_kinds = n_kinds < 9 ? n_kinds + 1 : 9; /* a character that is in no token */
        for (int k = 0; k < N_TEXTS; k++) {
            size_t n = make_text(&rng, text, leat_rng_below(&rng, k < 6 ? 40 : 400), n_kinds);
            uint64_t key = leat_rng_next(&rng);

            check_equal(&test, text, n, key, ids, refer(mode, text, n, key, ids));
        }
        test_trie_deinit(&test);
    }
}

static void test_shortest(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_SHORTEST, false, 1);
}

static void test_shortest_costs(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_SHORTEST, true, 2);
}

static void test_greedy(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_GREEDY, false, 3);
}

static void test_random(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_RANDOM, false, 4);
    check_mode(LEAT_CHARTRIE_RANDOM, true, 5);
}

/* Long texts go in windows; the result must not show it. */
static void check_long(bool has_costs, size_t long_token, uint64_t seed) {
    struct leat_chartrie_options options = plain;
    struct leat_rng rng = {.state = seed};
    uint8_t *text = malloc(TEXT_MAX);
    int32_t *ids = malloc(TEXT_MAX * sizeof(*ids));

    for (int round = 0; round < N_LONG_ROUNDS; round++) {
        uint64_t n_kinds = 2 + (uint64_t)round;
        size_t n;

        make_vocabulary(&rng, n_kinds, has_costs);
        n = make_text(&rng, text, 120000, n_kinds + (uint64_t)(round % 2));
        for (size_t i = 0; long_token && i < 12; i++)
            add_token(text + leat_rng_below(&rng, n - long_token),
                      1 + leat_rng_below(&rng, long_token), 0.25);
        for (int mode = LEAT_CHARTRIE_SHORTEST; mode <= LEAT_CHARTRIE_GREEDY; mode++) {
            struct test_trie test;

            options.mode = (enum leat_chartrie_mode)mode;
            build(&test, &options);
            check_equal(&test, text, n, 0, ids, refer(options.mode, text, n, 0, ids));
            test_trie_deinit(&test);
        }
    }
    free(text);
    free(ids);
}

static void test_long_texts(void **state) {
    (void)state;
    check_long(false, 0, 10);
    check_long(true, 0, 11);
}

static void test_long_tokens(void **state) {
    (void)state;
    check_long(false, 130, 12);
    check_long(false, 500, 13);
    check_long(false, 1100, 14);
    check_long(true, 1100, 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest),   cmocka_unit_test(test_shortest_costs),
        cmocka_unit_test(test_greedy),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_long_texts), cmocka_unit_test(test_long_tokens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
