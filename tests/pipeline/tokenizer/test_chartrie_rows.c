/* What the CharTrie does around its modes: rows in one call, unknown characters, bos, eos and
 * truncation, the probabilities of random mode, memory of long documents. The modes themselves are
 * in test_chartrie.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "tests/pipeline/shared_chartrie.h"
#include "tests/proto/shared_simd.h"

#define N_ROWS   300
#define ROW_MAX  9000 /* longer than what is scanned together */
#define DOCUMENT 10000000

static const struct leat_chartrie_options plain = {
    .unknown = LEAT_CHARTRIE_SKIP, .unk_id = -1, .bos_id = -1, .eos_id = -1};

static void init(struct test_trie *test, const char *lines, const char *scores,
                 const struct leat_chartrie_options *options) {
    test_trie_init(test, lines, strlen(lines), scores, options);
}

static void check_ids(struct test_trie *test, const char *text, const char *expected) {
    struct leat_encoder_row row = test_trie_encode(test, text, strlen(text), 0);
    char ids[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < row.n_ids; i++)
        n += (size_t)snprintf(ids + n, sizeof(ids) - n, i ? " %d" : "%d",
                              test->encoder.ids[row.first_id + i]);
    assert_string_equal(ids, expected);
}

static void test_ties(void **state) {
    struct test_trie test;

    (void)state;
    init(&test, "a\nb\nab\nba\naba\n", NULL, &plain);
    check_ids(&test, "", "");
    check_ids(&test, "aba", "4");
    check_ids(&test, "abab", "2 2");  /* not 4 1: the last token is the longest */
    check_ids(&test, "ababa", "2 4"); /* not 4 3 */
    test_trie_deinit(&test);
}

static void test_unknown_skip(void **state) {
    struct test_trie test;

    (void)state;
    init(&test, "a\nb\n\xc3\n", NULL, &plain);
    check_ids(&test,
              "a\xe2\x82\xac"
              "b",
              "0 1");
    check_ids(&test, "\xe2\x82\xac", "");
    check_ids(&test, "a\xc3\xa9", "0"); /* one unknown either way, and one token less */
    test_trie_deinit(&test);
}

static void test_unknown_unk(void **state) {
    struct leat_chartrie_options options = plain;
    struct test_trie test;

    (void)state;
    options.unknown = LEAT_CHARTRIE_UNK;
    options.unk_id = 77;
    init(&test, "a\nb\n", NULL, &options);
    check_ids(&test,
              "a\xe2\x82\xac\xc3\xa9"
              "b\xff",
              "0 77 77 1 77"); /* one for each character */
    test_trie_deinit(&test);
}

static void check_error(enum leat_chartrie_mode mode, const char *scores) {
    struct leat_chartrie_options options = plain;
    struct leat_encoder_row rows[3] = {{.text = (const uint8_t *)"ab", .n_bytes = 2},
                                       {.text = (const uint8_t *)"abxay", .n_bytes = 5},
                                       {.text = (const uint8_t *)"ba", .n_bytes = 2}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct test_trie test;

    options.unknown = LEAT_CHARTRIE_ERROR;
    options.mode = mode;
    options.bos_id = 5;
    init(&test, "a\nb\n", scores, &options);
    assert_int_equal(leat_chartrie_encode(test.trie, &test.encoder, rows, 3, &err), 0);
    assert_int_equal(rows[0].unknown, LEAT_ENCODER_NO_UNKNOWN);
    assert_int_equal(rows[0].n_ids, 3);
    assert_int_equal(rows[1].unknown, 2); /* the first one */
    assert_int_equal(rows[1].n_ids, 0);
    assert_int_equal(rows[2].unknown, LEAT_ENCODER_NO_UNKNOWN);
    assert_int_equal(rows[2].n_ids, 3);
    assert_int_equal(test.encoder.n_ids, 6);
    test_trie_deinit(&test);
}

static void test_unknown_error(void **state) {
    (void)state;
    check_error(LEAT_CHARTRIE_SHORTEST, NULL);
    check_error(LEAT_CHARTRIE_SHORTEST, "1\n2\n");
    check_error(LEAT_CHARTRIE_GREEDY, NULL);
    check_error(LEAT_CHARTRIE_RANDOM, NULL);
}

static void check_frame(bool keeps_tail, uint32_t max_length, const char *expected) {
    struct leat_chartrie_options options = plain;
    struct test_trie test;

    options.bos_id = 8;
    options.eos_id = 9;
    options.max_length = max_length;
    options.keeps_tail = keeps_tail;
    init(&test, "a\nb\nc\nd\n", NULL, &options);
    check_ids(&test, "abcd", expected);
    check_ids(&test, "", max_length == 1 ? expected : "8 9");
    test_trie_deinit(&test);
}

static void test_frame(void **state) {
    (void)state;
    check_frame(false, 0, "8 0 1 2 3 9");
    check_frame(false, 6, "8 0 1 2 3 9");
    check_frame(false, 5, "8 0 1 2 9");
    check_frame(true, 5, "8 1 2 3 9");
    check_frame(true, 3, "8 3 9");
    check_frame(false, 2, "8 9");
}

/* Rows of all lengths in one call are what each is alone. */
static void test_many_rows(void **state) {
    static const enum leat_chartrie_mode modes[] = {LEAT_CHARTRIE_SHORTEST, LEAT_CHARTRIE_GREEDY,
                                                    LEAT_CHARTRIE_RANDOM};
    struct leat_encoder_row *rows = calloc(N_ROWS, sizeof(*rows));
    uint8_t *text = malloc(N_ROWS * ROW_MAX), *at = text;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_rng rng = {.state = 7};
    struct test_trie together, alone;

    (void)state;
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t n = leat_rng_below(&rng, i % 50 == 0 ? ROW_MAX : 200);

        rows[i] = (struct leat_encoder_row){.text = at, .n_bytes = (uint32_t)n, .key = i};
        while (n--)
            *at++ = (uint8_t)('a' + leat_rng_below(&rng, 4));
    }
    for (size_t m = 0; m < 3; m++) {
        struct leat_chartrie_options options = plain;

        options.mode = modes[m];
        init(&together, "a\nb\nc\nab\nbc\nabc\ncab\n", NULL, &options);
        init(&alone, "a\nb\nc\nab\nbc\nabc\ncab\n", NULL, &options);
        assert_int_equal(leat_chartrie_encode(together.trie, &together.encoder, rows, N_ROWS, &err),
                         0);
        for (size_t i = 0; i < N_ROWS; i++) {
            struct leat_encoder_row row;

            test_trie_reset(&alone);
            row = test_trie_encode(&alone, rows[i].text, rows[i].n_bytes, i);
            assert_int_equal(row.n_ids, rows[i].n_ids);
            if (row.n_ids)
                assert_memory_equal(alone.encoder.ids + row.first_id,
                                    together.encoder.ids + rows[i].first_id,
                                    row.n_ids * sizeof(int32_t));
        }
        test_trie_deinit(&together);
        test_trie_deinit(&alone);
    }
    free(rows);
    free(text);
}

/* Counts how often each segmentation of "aaa" over {a, aa, aaa} is drawn: as a number of its ids in
 * base 4. */
static void draw(const char *scores, size_t n_draws, size_t counts[64]) {
    struct leat_chartrie_options options = plain;
    struct test_trie test;

    options.mode = LEAT_CHARTRIE_RANDOM;
    init(&test, "a\naa\naaa\n", scores, &options);
    memset(counts, 0, 64 * sizeof(*counts));
    for (size_t i = 0; i < n_draws; i++) {
        struct leat_encoder_row row;
        size_t code = 0;

        test.encoder.n_ids = 0;
        row = test_trie_encode(&test, "aaa", 3, leat_rng_fold(11, i));
        for (size_t k = 0; k < row.n_ids; k++)
            code = code * 4 + (size_t)test.encoder.ids[row.first_id + k] + 1;
        assert_true(code < 64);
        counts[code]++;
    }
    test_trie_deinit(&test);
}

static void check_share(size_t count, size_t n_draws, double expected) {
    double share = (double)count / (double)n_draws;
    double deviation = sqrt(expected * (1 - expected) / (double)n_draws);

    if (fabs(share - expected) > 4 * deviation)
        fail_msg("drawn %g of the time, not %g", share, expected);
}

static void test_random_uniform(void **state) {
    size_t counts[64], n = 40000;

    (void)state;
    draw(NULL, n, counts);
    check_share(counts[3], n, 0.25);         /* aaa */
    check_share(counts[1 * 4 + 2], n, 0.25); /* a aa */
    check_share(counts[2 * 4 + 1], n, 0.25); /* aa a */
    check_share(counts[21], n, 0.25);        /* a a a */
}

static void test_random_scores(void **state) {
    double a = exp(-0.5), aa = exp(-1.5), aaa = exp(-1.0);
    double sum = aaa + 2 * a * aa + a * a * a;
    size_t counts[64], n = 40000;

    (void)state;
    draw("0.5\n1.5\n1\n", n, counts);
    check_share(counts[3], n, aaa / sum);
    check_share(counts[1 * 4 + 2], n, a * aa / sum);
    check_share(counts[2 * 4 + 1], n, a * aa / sum);
    check_share(counts[21], n, a * a * a / sum);
}

static void test_random_cost_range(void **state) {
    struct leat_chartrie_options options = plain;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chartrie *trie = NULL;
    struct leat_vocab *vocab;

    (void)state;
    options.mode = LEAT_CHARTRIE_RANDOM;
    assert_int_equal(leat_vocab_new("a\nb\n", 4, LEAT_TOKEN_ENCODING_RAW, "vocab", &vocab, &err),
                     0);
    assert_int_equal(leat_vocab_read_costs(vocab, "1\n700\n", 6, "scores", &err), 0);
    assert_true(leat_chartrie_new(vocab, &options, &trie, &err) < 0);
    assert_non_null(strstr(err.message, "the cost of id 1 is 700"));
    leat_vocab_free(vocab);
}

/* Masses of a long text leave the range of a double; every token is still drawn from what is there.
 */
static void test_random_long(void **state) {
    struct leat_chartrie_options options = plain;
    char *text = malloc(300000);
    struct leat_encoder_row row;
    struct test_trie test;
    size_t n_bytes = 0;

    (void)state;
    options.mode = LEAT_CHARTRIE_RANDOM;
    memset(text, 'a', 300000);
    for (size_t i = 0; i < 300000; i += 997)
        text[i] = 'x'; /* unknown */
    init(&test, "a\naa\naaa\n", "-600\n600\n0\n", &options);
    row = test_trie_encode(&test, text, 300000, 5);
    for (size_t i = 0; i < row.n_ids; i++)
        n_bytes += (size_t)test.encoder.ids[row.first_id + i] + 1;
    assert_int_equal(n_bytes, 300000 - (300000 + 996) / 997);
    test_trie_deinit(&test);
    free(text);
}

static void check_document(const char *lines, const char *scores, enum leat_chartrie_mode mode,
                           const char *period) {
    struct leat_chartrie_options options = plain;
    char *text = malloc(DOCUMENT);
    size_t n_period = strlen(period);
    struct leat_encoder_row row;
    struct test_trie test;
    double ids_mb, all_mb;

    options.mode = mode;
    for (size_t i = 0; i < DOCUMENT; i++)
        text[i] = period[i % n_period];
    init(&test, lines, scores, &options);
    row = test_trie_encode(&test, text, DOCUMENT, 5);
    ids_mb = (double)row.n_ids * 4e-6;
    all_mb = (double)test.n_bytes_allocated / 1e6;
    assert_true(row.n_ids > 0);
    if (all_mb - ids_mb > 100)
        fail_msg("%.1f MB for %.1f MB of ids", all_mb, ids_mb);
    test_trie_deinit(&test);
    free(text);
}

/* 10 MB need less than 100 MB besides the ids, even where paths never meet: "aa" from even
 * positions and from odd ones. */
static void test_document(void **state) {
    (void)state;
    check_document("a\nb\nab\nabc\nc\n", NULL, LEAT_CHARTRIE_SHORTEST, "abcab");
    check_document("a\nb\nab\nabc\nc\n", "1\n2\n2\n4\n1\n", LEAT_CHARTRIE_SHORTEST, "abcab");
    check_document("a\naa\n", NULL, LEAT_CHARTRIE_SHORTEST, "a");
    check_document("a\naa\n", "1\n1\n", LEAT_CHARTRIE_SHORTEST, "a");
    check_document("a\naa\n", NULL, LEAT_CHARTRIE_SHORTEST, "aaaaaaaaax");
    check_document("a\naa\n", NULL, LEAT_CHARTRIE_GREEDY, "a");
    check_document("abc\nbca\ncab\na\n", NULL, LEAT_CHARTRIE_RANDOM, "abc");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_unknown_skip),
        cmocka_unit_test(test_unknown_unk),
        cmocka_unit_test(test_unknown_error),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_random_uniform),
        cmocka_unit_test(test_random_scores),
        cmocka_unit_test(test_random_cost_range),
        cmocka_unit_test(test_random_long),
        cmocka_unit_test(test_document),
    };

    return shared_simd_run_twice(tests, NULL, NULL);
}
