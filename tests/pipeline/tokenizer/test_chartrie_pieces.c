/* Pieces change no ids: rows through the memory of pieces, cold and warm, against the same rows
 * without it (test_chartrie.c holds those against brute force). Vocabularies hold blanks only in
 * front of words and behind signs; texts are of all lengths up to several windows, with words too
 * long for the cache or for a window, unknown characters, and bytes that are no UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/chartrie/pieces.h"
#include "proto/base/rng.h"
#include "tests/pipeline/shared_chartrie.h"
#include "tests/proto/shared_simd.h"

#define N_ROUNDS   60
#define N_ROWS     24
#define ROW_MAX    20000
#define LINES_MAX  20000
#define TOKENS_MAX 400
#define TOKEN_MAX  80

struct texts {
    uint8_t *bytes;
    struct leat_encoder_row rows[N_ROWS];
    uint8_t words[64][TOKEN_MAX];
    size_t sizes[64];
};

static const char *const kinds[] = {"a",    "b",    "c",  "d", ",", "\xc3\xa9", "\xe2\x82\xac",
                                    "\xff", "\xe2", "\0", "Q"};

/* Characters without blanks. */
static size_t make_word(struct leat_rng *rng, uint8_t *word, size_t n, uint64_t n_kinds) {
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const char *kind = kinds[leat_rng_below(rng, n_kinds)];
        size_t size = *kind ? strlen(kind) : 1;

        memcpy(word + at, kind, size);
        at += size;
    }
    return at;
}

static const char blanks[] = " \t\r\v";

static uint8_t a_blank(struct leat_rng *rng) {
    return (uint8_t)blanks[leat_rng_below(rng, leat_rng_below(rng, 3) ? 1 : 4)];
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Lines without doubles. Some tokens hold blanks, behind a comma or another blank. */
static size_t make_vocabulary(struct leat_rng *rng, char *lines) {
    static char tokens[TOKENS_MAX][TOKEN_MAX];
    size_t n = 1 + leat_rng_below(rng, TOKENS_MAX - 13), n_bytes = 0;
    bool knows_all = leat_rng_below(rng, 2);

    memset(tokens, 0, sizeof(tokens));
    for (size_t i = 0; i < n; i++) {
        uint8_t *token = (uint8_t *)tokens[i];
        size_t at = 0;

        if (leat_rng_below(rng, 2))
            token[at++] = a_blank(rng);
        if (leat_rng_below(rng, 8) == 0 && at)
            token[at++] = a_blank(rng);
        at += make_word(rng, token + at, leat_rng_below(rng, 7), 9);
        if (leat_rng_below(rng, 8) == 0) {
            token[at++] = ',';
            token[at++] = a_blank(rng);
        }
        if (at == 0)
            token[at++] = 'a';
    }
    for (size_t i = 0; knows_all && i < 12; i++) { /* all but the last two kinds */
        memset(tokens[n + i], 0, TOKEN_MAX);
        memcpy(tokens[n + i], i < 9 ? kinds[i] : &blanks[i - 9], i < 9 ? strlen(kinds[i]) : 1);
    }
    n += knows_all ? 12 : 0;
    qsort(tokens, n, TOKEN_MAX, compare_lines);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(tokens[i]);

        if (i && strcmp(tokens[i], tokens[i - 1]) == 0)
            continue;
        memcpy(lines + n_bytes, tokens[i], size);
        n_bytes += size;
        lines[n_bytes++] = '\n';
    }
    memcpy(lines + n_bytes, "~~\n", 3); /* so that no file ends its lines in CR LF */
    return n_bytes + 3;
}

/* Rows of words, most of which come again. */
static void make_texts(struct leat_rng *rng, struct texts *texts) {
    uint64_t n_kinds = 2 + leat_rng_below(rng, leat_rng_below(rng, 2) ? 8 : 10);
    uint8_t *at = texts->bytes;

    for (size_t i = 0; i < 64; i++)
        texts->sizes[i] =
            make_word(rng, texts->words[i], leat_rng_below(rng, i % 8 ? 6 : 26), n_kinds);
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t n = leat_rng_below(rng, i % 8 == 0 ? ROW_MAX : 300), n_long = i % 8 ? i % 6 : 3;
        uint8_t *start = at;

        while ((size_t)(at - start) < n) {
            size_t word = leat_rng_below(rng, 64);

            if (leat_rng_below(rng, i % 8 ? 40 : 800) == 0 && n_long) {
                at += make_word(rng, at, leat_rng_below(rng, i % 8 || n_long > 2 ? 200 : 9000),
                                n_kinds);
                n_long--;
            } else {
                memcpy(at, texts->words[word], texts->sizes[word]);
                at += texts->sizes[word];
            }
            if (leat_rng_below(rng, 3000) == 0)
                *at++ = 'Q';
            *at++ = a_blank(rng);
        }
        if (leat_rng_below(rng, 2) && at > start)
            at--;
        texts->rows[i] =
            (struct leat_encoder_row){.text = start, .n_bytes = (uint32_t)(at - start)};
    }
}

static void encode(struct test_trie *test, struct leat_chartrie_pieces *pieces,
                   const struct texts *texts, struct leat_encoder_row *rows) {
    struct leat_error err = LEAT_ERROR_INIT;

    test_trie_reset(test);
    test->encoder.pieces = pieces;
    memcpy(rows, texts->rows, sizeof(texts->rows));
    assert_int_equal(leat_chartrie_encode(test->trie, &test->encoder, rows, N_ROWS, &err), 0);
}

static void check_equal(const struct test_trie *left, const struct leat_encoder_row *left_rows,
                        const struct test_trie *right, const struct leat_encoder_row *right_rows) {
    assert_int_equal(left->encoder.n_ids, right->encoder.n_ids);
    for (size_t i = 0; i < N_ROWS; i++) {
        assert_int_equal(left_rows[i].unknown, right_rows[i].unknown);
        assert_int_equal(left_rows[i].first_id, right_rows[i].first_id);
        assert_int_equal(left_rows[i].n_ids, right_rows[i].n_ids);
    }
    if (left->encoder.n_ids)
        assert_memory_equal(left->encoder.ids, right->encoder.ids,
                            left->encoder.n_ids * sizeof(int32_t));
}

static void check_round(struct leat_rng *rng, const struct leat_chartrie_options *options,
                        struct texts *texts) {
    static char lines[TOKENS_MAX * (TOKEN_MAX + 1) + LINES_MAX];
    size_t n_bytes = make_vocabulary(rng, lines);
    struct leat_encoder_row plain_rows[N_ROWS], rows[N_ROWS];
    struct leat_chartrie_pieces *pieces;
    struct test_trie plain, test;

    test_trie_init(&plain, lines, n_bytes, NULL, options);
    test_trie_init(&test, lines, n_bytes, NULL, options);
    assert_true(leat_chartrie_keeps_pieces(test.trie));
    assert_int_equal(leat_chartrie_pieces_new(&pieces), 0);
    for (int pass = 0; pass < 3; pass++) {
        if (pass != 1)
            make_texts(rng, texts);
        encode(&plain, NULL, texts, plain_rows);
        encode(&test, pieces, texts, rows);
        check_equal(&plain, plain_rows, &test, rows);
    }
    leat_chartrie_pieces_free(pieces);
    test_trie_deinit(&plain);
    test_trie_deinit(&test);
}

static void check_mode(enum leat_chartrie_mode mode, uint64_t seed) {
    struct leat_rng rng = {.state = seed};
    struct texts texts = {.bytes = malloc((ROW_MAX + 12000) * 3 * N_ROWS)};

    assert_non_null(texts.bytes);
    for (int round = 0; round < N_ROUNDS; round++) {
        struct leat_chartrie_options options = {
            .mode = mode,
            .unknown = (enum leat_chartrie_unknown)(round % 3),
            .unk_id = 1000000,
            .bos_id = round % 4 ? -1 : 7,
            .eos_id = round % 5 ? -1 : 8,
            .max_length = round % 2 ? 0 : 2 + (uint32_t)leat_rng_below(&rng, 100),
            .keeps_tail = round % 7 > 3};

        check_round(&rng, &options, &texts);
    }
    free(texts.bytes);
}

static void test_shortest(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_SHORTEST, 21);
}

static void test_greedy(void **state) {
    (void)state;
    check_mode(LEAT_CHARTRIE_GREEDY, 22);
}

static bool keeps(const char *lines, const char *scores, enum leat_chartrie_mode mode) {
    const struct leat_chartrie_options options = {
        .mode = mode, .unknown = LEAT_CHARTRIE_SKIP, .unk_id = -1, .bos_id = -1, .eos_id = -1};
    struct test_trie test;
    bool result;

    test_trie_init(&test, lines, strlen(lines), scores, &options);
    result = leat_chartrie_keeps_pieces(test.trie);
    test_trie_deinit(&test);
    return result;
}

/* Only where a piece's ids depend on nothing but the piece. */
static void test_where(void **state) {
    (void)state;
    assert_true(keeps("a\n b\n, \n", NULL, LEAT_CHARTRIE_SHORTEST));
    assert_true(keeps("a\n b\n", "1\n2\n", LEAT_CHARTRIE_GREEDY));
    assert_false(keeps("a\n b\n", "1\n2\n", LEAT_CHARTRIE_SHORTEST));
    assert_false(keeps("a\n b\n", NULL, LEAT_CHARTRIE_RANDOM));
    assert_false(keeps("a\na b\n", NULL, LEAT_CHARTRIE_SHORTEST)); /* "a b" goes over the blank */
}

static size_t n_bytes_of(const struct leat_chartrie_pieces *pieces) {
    const struct leat_word_cache *cache = &pieces->cache;

    return sizeof(*pieces) + (cache->mask + 1) * sizeof(*cache->slots) +
           cache->long_words.young.n_bytes + cache->long_words.old.n_bytes +
           cache->arena_capacity * sizeof(*cache->arena);
}

/* Words that never come again take no more memory than is said. */
static void test_memory(void **state) {
    const struct leat_chartrie_options options = {
        .unknown = LEAT_CHARTRIE_SKIP, .unk_id = -1, .bos_id = -1, .eos_id = -1};
    struct leat_rng rng = {.state = 23};
    struct texts texts = {.bytes = malloc((ROW_MAX + 12000) * 3 * N_ROWS)};
    struct leat_encoder_row rows[N_ROWS];
    struct leat_chartrie_pieces *pieces;
    struct test_trie test;

    (void)state;
    assert_non_null(texts.bytes);
    test_trie_init(&test, "a\nb\nc\nd\n", 8, NULL, &options);
    assert_int_equal(leat_chartrie_pieces_new(&pieces), 0);
    for (int i = 0; i < 100; i++) {
        make_texts(&rng, &texts);
        encode(&test, pieces, &texts, rows);
        assert_true(n_bytes_of(pieces) <= leat_chartrie_pieces_max_bytes());
    }
    assert_int_equal(pieces->cache.mask + 1, LEAT_CHARTRIE_SLOTS_MAX);
    leat_chartrie_pieces_free(pieces);
    test_trie_deinit(&test);
    free(texts.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_memory),
    };

    return shared_simd_run_twice(tests, NULL, NULL);
}
