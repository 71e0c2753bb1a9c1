/* Unigram against what Hugging Face `tokenizers` 0.23.2 gives for small vocabularies, and against
 * the plain algorithm in random ones; long texts; scores as serde_json reads them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/model/score_reader.h"
#include "proto/base/rng.h"
#include "tests/pipeline/shared_model.h"

static void load(struct test_model *test, const char *json) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (test_model_init(test, &leat_model_unigram, json, false, &err) < 0)
        fail_msg("%s: %s", err.path, err.message);
}

static void test_unknowns(void **state) {
    struct test_model test;

    (void)state;
    load(&test,
         "{\"unk_id\": 0, \"byte_fallback\": true, \"vocab\": [[\"<unk>\", 0], [\"a\", -1], "
         "[\"xy\", -100.0], [\"<0x78>\", -5], [\"<0x79>\", -5], [\"b\", -1.5], [\"ab\", -2.5], "
         "[\"\u00e9\", -3], [\"ba\", -2e0]]}");
    TEST_MODEL_EXPECT(&test, "xyz", {2, {0, 2}}, {0, {2, 3}});
    TEST_MODEL_EXPECT(&test, "<unk>", {0, {0, 5}});
    TEST_MODEL_EXPECT(&test, "<unk>x", {0, {0, 6}});
    TEST_MODEL_EXPECT(&test, "ax", {1, {0, 1}}, {3, {1, 2}});
    TEST_MODEL_EXPECT(&test, "yx", {4, {0, 2}}, {3, {0, 2}});
    TEST_MODEL_EXPECT(&test, "abab", {1, {0, 1}}, {8, {1, 3}}, {5, {3, 4}});
    TEST_MODEL_EXPECT(&test, "bab", {8, {0, 2}}, {5, {2, 3}});
    TEST_MODEL_EXPECT(&test, "a\u00e9b", {1, {0, 1}}, {7, {1, 3}}, {5, {3, 4}});
    TEST_MODEL_EXPECT(&test, "z\u00e9", {0, {0, 1}}, {7, {1, 3}});
    TEST_MODEL_EXPECT(&test, "xxy", {3, {0, 1}}, {2, {1, 3}});
    TEST_MODEL_EXPECT(&test, "azxyb", {1, {0, 1}}, {0, {1, 2}}, {2, {2, 4}}, {5, {4, 5}});
    test_model_deinit(&test);
}

/* Of equal sums, the one that was found first. */
static void test_ties(void **state) {
    struct test_model test;

    (void)state;
    load(&test, "{\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0.0], [\"a\", -1.0], [\"b\", -1.0], "
                "[\"ab\", -2.0], [\"c\", -1.0], [\"bc\", -2.0], [\"abc\", -3.0]]}");
    TEST_MODEL_EXPECT(&test, "ab", {3, {0, 2}});
    TEST_MODEL_EXPECT(&test, "bc", {5, {0, 2}});
    TEST_MODEL_EXPECT(&test, "abcabc", {6, {0, 3}}, {6, {3, 6}});
    test_model_deinit(&test);
}

static void test_no_unknown(void **state) {
    struct leat_token tokens[8];
    struct test_model test;

    (void)state;
    load(&test, "{\"unk_id\": null, \"vocab\": [[\"a\", -1], [\"ab\", -2]]}");
    TEST_MODEL_EXPECT(&test, "aab", {0, {0, 1}}, {1, {1, 3}});
    assert_int_equal(test_model_encode(&test, "b", 1, tokens), -EINVAL);
    assert_int_equal(test_model_encode(&test, "ac", 2, tokens), -EINVAL);
    test_model_deinit(&test);
    load(&test, "{\"vocab\": []}");
    assert_int_equal(test_model_encode(&test, "a", 1, tokens), -EINVAL);
    test_model_deinit(&test);
}

/* The last of equal pieces counts; the empty piece only for the lowest score. */
static void test_odd_pieces(void **state) {
    struct test_model test;

    (void)state;
    load(&test, "{\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"a\", -1], [\"a\", -3], "
                "[\"aa\", -1.5], [\"\", -50]]}");
    TEST_MODEL_EXPECT(&test, "a", {2, {0, 1}});
    TEST_MODEL_EXPECT(&test, "aaa", {2, {0, 1}}, {3, {1, 3}});
    TEST_MODEL_EXPECT(&test, "b", {0, {0, 1}});
    test_model_deinit(&test);
}

/* An unknown character scores ten less than the lowest piece, wherever that piece stands: "a" and
 * an unknown are 11 - 30, or 11 - 25 without the lowest score, and "ab" is -15. */
static void test_unknown_is_below_all_scores(void **state) {
    static const char *const vocabularies[] = {
        "{\"unk_id\": 0, \"vocab\": [[\"?\", 0], [\"a\", 11], [\"ab\", -15], [\"z\", -20]]}",
        "{\"unk_id\": 3, \"vocab\": [[\"z\", -20], [\"a\", 11], [\"ab\", -15], [\"?\", 0]]}",
        "{\"unk_id\": 0, \"vocab\": [[\"?\", -20], [\"a\", 11], [\"ab\", -15], [\"z\", 0]]}",
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct test_model test;

        load(&test, vocabularies[i]);
        TEST_MODEL_EXPECT(&test, "ab", {2, {0, 2}});
        test_model_deinit(&test);
    }
}

static void test_refusals(void **state) {
    const struct leat_model_ops *ops = &leat_model_unigram;

    (void)state;
    test_model_refuses(ops, "{\"unk_id\": 0}", "model", "vocab");
    test_model_refuses(ops, "{\"vocab\": {\"a\": 1}}", "model.vocab", "an object");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1], 5]}", "model.vocab[1]", "an integer");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1, 2]]}", "model.vocab[0]", "[piece, score]");
    test_model_refuses(ops, "{\"vocab\": [[1, 1]]}", "model.vocab[0][0]", "an integer");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", null]]}", "model.vocab[0][1]", "null");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 0], [\"b\", -1e300]]}", "model.vocab[1]",
                       "1e+290");
    test_model_refuses(ops, "{\"vocab\": [], \"unk_id\": 0}", "model.unk_id", "empty");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1]], \"unk_id\": 1}", "model.unk_id", "1");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1]], \"unk_id\": 18446744073709551615}",
                       "model.unk_id", "18446744073709551615");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1]], \"unk_id\": -1}", "model.unk_id", "-1");
    test_model_refuses(ops, "{\"vocab\": [[\"a\", 1]], \"byte_fallback\": 1}",
                       "model.byte_fallback", "true or false");
}

static void test_too_long_piece(void **state) {
    char json[20000];
    int at = sprintf(json, "{\"vocab\": [[\"");

    (void)state;
    memset(json + at, 'a', 16385);
    (void)sprintf(json + at + 16385, "\", 1]]}");
    test_model_refuses(&leat_model_unigram, json, "model.vocab", "16384");
}

/* ---- random vocabularies */

#define N_PIECES 24

struct vocabulary {
    char pieces[N_PIECES][16]; /* the first is unknown */
    double scores[N_PIECES];
    size_t n;
    char json[4096];
};

static const char *const letters[] = {"a", "b", "\u00e9", "c"};

static void random_word(struct leat_rng *rng, char *ret_word, size_t n_max, uint64_t n_letters) {
    size_t n = 1 + leat_rng_below(rng, n_max), at = 0;

    for (size_t i = 0; i < n; i++) {
        const char *letter = letters[leat_rng_below(rng, n_letters)];

        strcpy(ret_word + at, letter);
        at += strlen(letter);
    }
}

static bool has_piece(const struct vocabulary *vocabulary, const char *piece) {
    for (size_t i = 0; i < vocabulary->n; i++)
        if (strcmp(vocabulary->pieces[i], piece) == 0)
            return true;
    return false;
}

/* Scores are eighths, so that sums are exact and often equal. */
static void random_vocabulary(struct leat_rng *rng, struct vocabulary *vocabulary) {
    size_t n = 2 + leat_rng_below(rng, N_PIECES - 2);
    int at = sprintf(vocabulary->json, "{\"unk_id\": 0, \"vocab\": [[\"?\", 0]");

    strcpy(vocabulary->pieces[0], "?");
    vocabulary->scores[0] = 0;
    vocabulary->n = 1;
    while (vocabulary->n < n) {
        char *piece = vocabulary->pieces[vocabulary->n];
        double score = -(double)leat_rng_below(rng, 40) / 8;

        random_word(rng, piece, 5, 3);
        if (has_piece(vocabulary, piece)) {
            n--;
            continue;
        }
        vocabulary->scores[vocabulary->n++] = score;
        at += sprintf(vocabulary->json + at, ", [\"%s\", %.3f]", piece, score);
    }
    sprintf(vocabulary->json + at, "]}");
}

struct step {
    double score;
    size_t start;
    int id; /* -1: nothing ends here */
};

static void offer(struct step *step, double score, size_t start, int id) {
    if (step->id >= 0 && score <= step->score)
        return;
    *step = (struct step){.score = score, .start = start, .id = id};
}

/* Shorter pieces are offered first. */
static void offer_from(const struct vocabulary *vocabulary, const char *word, size_t at,
                       struct step *steps, double unknown) {
    size_t n_char = (uint8_t)word[at] < 0x80 ? 1 : 2, n_left = strlen(word + at);
    bool has_char = false;

    for (size_t n = 1; n <= n_left && n < 16; n++)
        for (size_t i = 0; i < vocabulary->n; i++)
            if (strlen(vocabulary->pieces[i]) == n &&
                memcmp(vocabulary->pieces[i], word + at, n) == 0) {
                offer(&steps[at + n], vocabulary->scores[i] + steps[at].score, at, (int)i);
                has_char |= n == n_char;
            }
    if (!has_char)
        offer(&steps[at + n_char], unknown + steps[at].score, at, 0);
}

static int id_of(const struct vocabulary *vocabulary, const char *text, size_t n) {
    for (size_t i = 0; i < vocabulary->n; i++)
        if (strlen(vocabulary->pieces[i]) == n && memcmp(vocabulary->pieces[i], text, n) == 0)
            return (int)i;
    return 0;
}

/* Tokens from the last to the first, unknowns joined; then turned round. */
static size_t trace(const struct vocabulary *vocabulary, const char *word, const struct step *steps,
                    struct leat_token *tokens) {
    size_t n = 0;

    for (size_t end = strlen(word); end > 0; end = steps[end].start) {
        uint32_t start = (uint32_t)steps[end].start;

        if (n && steps[end].id == 0 && tokens[n - 1].id == 0)
            tokens[n - 1].range.start = start;
        else
            tokens[n++] = (struct leat_token){.id = steps[end].id, .range = {start, (uint32_t)end}};
    }
    for (size_t i = 0; i < n / 2; i++) {
        struct leat_token token = tokens[i];

        tokens[i] = tokens[n - 1 - i];
        tokens[n - 1 - i] = token;
    }
    for (size_t i = 0; i < n; i++)
        if (tokens[i].id == 0)
            tokens[i].id = id_of(vocabulary, word + tokens[i].range.start,
                                 tokens[i].range.end - tokens[i].range.start);
    return n;
}

static size_t best_path(const struct vocabulary *vocabulary, const char *word,
                        struct leat_token *tokens) {
    size_t n = strlen(word), n_tokens;
    struct step *steps = calloc(n + 1, sizeof(*steps));
    double unknown = 0;

    assert_non_null(steps);
    for (size_t i = 1; i <= n; i++)
        steps[i].id = -1;
    for (size_t i = 0; i < vocabulary->n; i++)
        unknown = vocabulary->scores[i] < unknown ? vocabulary->scores[i] : unknown;
    for (size_t at = 0; at < n; at++)
        if (((uint8_t)word[at] & 0xc0) != 0x80)
            offer_from(vocabulary, word, at, steps, unknown - 10);
    n_tokens = trace(vocabulary, word, steps, tokens);
    free(steps);
    return n_tokens;
}

static void check_word(struct test_model *test, const struct vocabulary *vocabulary,
                       const char *word) {
    size_t n = strlen(word), n_expected;
    struct leat_token *tokens = calloc(n, sizeof(*tokens)), *expected = calloc(n, sizeof(*tokens));

    assert_non_null(tokens);
    assert_non_null(expected);
    n_expected = best_path(vocabulary, word, expected);
    assert_int_equal(test_model_encode(test, word, n, tokens), n_expected);
    assert_memory_equal(tokens, expected, n_expected * sizeof(*tokens));
    free(tokens);
    free(expected);
}

static void test_random(void **state) {
    struct leat_rng rng = {.state = 9};

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct vocabulary vocabulary;
        struct test_model test;
        char word[128];

        random_vocabulary(&rng, &vocabulary);
        load(&test, vocabulary.json);
        for (int k = 0; k < 50; k++) {
            random_word(&rng, word, 60, 4);
            check_word(&test, &vocabulary, word);
        }
        test_model_deinit(&test);
    }
}

/* Texts of many windows. In the second kind of vocabulary, two ways through the text differ for
 * ever. */
static void test_long_texts(void **state) {
    static char word[60001];
    struct leat_rng rng = {.state = 4};

    (void)state;
    for (int i = 0; i < 12; i++) {
        struct vocabulary vocabulary;
        struct test_model test;

        random_vocabulary(&rng, &vocabulary);
        load(&test, vocabulary.json);
        random_word(&rng, word, 30000, 4);
        check_word(&test, &vocabulary, word);
        test_model_deinit(&test);
    }
    for (size_t n = 29998; n <= 30001; n++) {
        struct vocabulary vocabulary = {
            .pieces = {"?", "aaa", "aaaaa"}, .scores = {0, -3, -4.5}, .n = 3};
        struct test_model test;

        load(&test, "{\"unk_id\": 0, \"vocab\": [[\"?\", 0], [\"aaa\", -3], [\"aaaaa\", -4.5]]}");
        memset(word, 'a', n);
        word[n] = '\0';
        check_word(&test, &vocabulary, word);
        test_model_deinit(&test);
    }
}

/* ---- scores */

/* Numbers and what Hugging Face `tokenizers` makes of them, which is often not the nearest double.
 */
static void test_scores(void **state) {
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0x0.0p+0},
        {"-0", -0x0.0p+0},
        {"-0.0", -0x0.0p+0},
        {"1", 0x1.0000000000000p+0},
        {"-1", -0x1.0000000000000p+0},
        {"18446744073709551615", 0x1.0000000000000p+64},
        {"-9223372036854775808", -0x1.0000000000000p+63},
        {"18446744073709551616.5", 0x1.0000000000000p+64},
        {"1844674407370955161.5e10", 0x1.dcd6500000000p+93},
        {"1e-320", 0x0.00000000007e8p-1022},
        {"5e-324", 0x0.0000000000001p-1022},
        {"123456789012345678901234567890.123", 0x1.8ee90ff6c373ep+96},
        {"0e5", 0x0.0p+0},
        {"1E3", 0x1.f400000000000p+9},
        {"-2.25e+2", -0x1.c200000000000p+7},
        {"1e-2147483649", 0x0.0p+0},
        {"0.000000000000000000000000000000000012345678901234567890123", 0x1.069044f7ab3e7p-116},
        {"-15.78932879217421809679", -0x1.f9422e7485be0p+3},
        {"-10.01746814538401916146", -0x1.408f195b24ad3p+3},
        {"-19.075400917145211", -0x1.3134d79793a23p+4},
        {"-15.02551716079096690", -0x1.e0d1095d62afep+3},
        {"-6.77356436336395322", -0x1.b182141a7ff38p+2},
        {"-17.360144458886891", -0x1.15c326d60c13cp+4},
        {"-15.890626727899067", -0x1.fc80039fa8a3cp+3},
        {"-6.60560951367430817239", -0x1.a6c24e67d82afp+2},
        {"-7.64625295482659175181", -0x1.e95c355a7b1bfp+2},
        {"-14.74014391475423555157", -0x1.d7af424a867ddp+3},
        {"-13.780850166232625", -0x1.b8fcb97ce172fp+3},
        {"-9.65817360326884030757", -0x1.350fc216a42a2p+3},
        {"-2.91130216615682326756", -0x1.74a58ca435711p+1},
        {"-1.95398045354718638541", -0x1.f438102102276p+0},
        {"-6.84835988293839031", -0x1.b64b87401d5c8p+2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *end, *text = cases[i].text;
        double value;

        assert_true(leat_score_parse(text, text + strlen(text), &value, &end));
        assert_ptr_equal(end, text + strlen(text));
        if (memcmp(&value, &cases[i].value, sizeof(value)) != 0)
            fail_msg("%s: %a instead of %a", text, value, cases[i].value);
    }
}

/* The reader finds the array that the nodes speak of: the last `vocab`, whatever stands before. */
static void test_scores_are_found(void **state) {
    struct test_model test;

    (void)state;
    load(&test, "{\"x\": [\"]\\\\\", {\"vocab\": [1, 2]}, -1.5e3, true], \"vocab\": [[\"b\", 1]],\n"
                "\"\\u0076ocab\" : [ [\"a\\\"\", -1 ] ,\n[\"b\", -1.0e0], [ \"ab\" ,-1.9999],\n"
                "[\"?\",-9]]\t, \"unk_id\": 3 , \"a\": {}}");
    TEST_MODEL_EXPECT(&test, "a\"b", {0, {0, 2}}, {1, {2, 3}});
    TEST_MODEL_EXPECT(&test, "abb", {2, {0, 2}}, {1, {2, 3}});
    test_model_deinit(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknowns),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_no_unknown),
        cmocka_unit_test(test_odd_pieces),
        cmocka_unit_test(test_unknown_is_below_all_scores),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_long_piece),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_scores_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
