/* Parts of long words of a byte-level model, which are cached: a part may read like a word that is
 * a token as a whole only (ignore_merges). Words of any length against BPE as it is defined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/model/bpe.h"
#include "tests/pipeline/shared_model.h"
#include "tests/proto/shared_random.h"
#include "tests/proto/shared_simd.h"

#define JSON_MAX 16384

enum { AA = 256, CA, CAB, AAB };

/* Appends the bytes as a string of JSON, in GPT-2's alphabet, without its quotes. */
static size_t print_bytes(char *json, const uint8_t *bytes, size_t n_bytes) {
    size_t n = 0;

    for (size_t i = 0; i < n_bytes; i++) {
        uint8_t character[3] = {0};
        uint32_t size = leat_byte_level_map(bytes[i], character);

        n +=
            (size_t)sprintf(json + n, "%s%.*s", *character == '"' || *character == '\\' ? "\\" : "",
                            (int)size, (char *)character);
    }
    return n;
}

/* All bytes, three merges, and "aab", which no merge makes. */
static void make_model(char *json) {
    size_t n = (size_t)sprintf(json, "{\"type\": \"BPE\", \"ignore_merges\": true, \"vocab\": {");

    for (int i = 0; i < 256; i++) {
        uint8_t byte = (uint8_t)i;

        json[n++] = '"';
        n += print_bytes(json + n, &byte, 1);
        n += (size_t)sprintf(json + n, "\": %d, ", i);
    }
    (void)sprintf(json + n,
                  "\"aa\": %d, \"ca\": %d, \"cab\": %d, \"aab\": %d}, \"merges\": [\"a a\", "
                  "\"c a\", \"ca b\"]}",
                  AA, CA, CAB, AAB);
}

static void test_parts_and_words(void **state) {
    static char json[JSON_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct test_model test;

    (void)state;
    make_model(json);
    if (test_model_init(&test, &leat_model_bpe, json, true, &err) < 0)
        fail_msg("%s", err.message);
    for (int pass = 0; pass < 2; pass++) { /* the other of the two is known already */
        TEST_MODEL_EXPECT(&test, "aab", {AAB, {0, 3}});
        TEST_MODEL_EXPECT(&test, "aab-aab-aab-cabaab", {AA, {0, 2}}, {'b', {2, 3}}, {'-', {3, 4}},
                          {AA, {4, 6}}, {'b', {6, 7}}, {'-', {7, 8}}, {AA, {8, 10}},
                          {'b', {10, 11}}, {'-', {11, 12}}, {CAB, {12, 15}}, {AA, {15, 17}},
                          {'b', {17, 18}});
        TEST_MODEL_EXPECT(&test, "aab", {AAB, {0, 3}});
    }
    test_model_deinit(&test);
}

/* ---- merging by definition ---- */

#define N_LETTERS 4
#define N_MERGES  60
#define WORD_MAX  1200

struct merges {
    char tokens[N_LETTERS + N_MERGES][64];
    int pairs[N_MERGES][2];
    int n_tokens;
};

/* Random merges of tokens that are there already. */
static void draw_merges(struct merges *merges, uint64_t *random) {
    merges->n_tokens = N_LETTERS;
    for (int i = 0; i < N_LETTERS; i++)
        (void)sprintf(merges->tokens[i], "%c", 'a' + i);
    while (merges->n_tokens < N_LETTERS + N_MERGES) {
        int left = (int)random_below(random, (uint64_t)merges->n_tokens);
        int right = (int)random_below(random, (uint64_t)merges->n_tokens);
        char token[64];
        bool is_known = strlen(merges->tokens[left]) + strlen(merges->tokens[right]) > 12;

        (void)snprintf(token, sizeof(token), "%.12s%.12s", merges->tokens[left],
                       merges->tokens[right]);
        for (int i = 0; i < merges->n_tokens; i++)
            is_known |= strcmp(merges->tokens[i], token) == 0;
        if (is_known)
            continue;
        merges->pairs[merges->n_tokens - N_LETTERS][0] = left;
        merges->pairs[merges->n_tokens - N_LETTERS][1] = right;
        strcpy(merges->tokens[merges->n_tokens++], token);
    }
}

static void print_merges(const struct merges *merges, char *json) {
    size_t n = (size_t)sprintf(json, "{\"type\": \"BPE\", \"vocab\": {");

    for (int i = 0; i < merges->n_tokens; i++)
        n += (size_t)sprintf(json + n, "%s\"%s\": %d", i ? ", " : "", merges->tokens[i], i);
    n += (size_t)sprintf(json + n, "}, \"merges\": [");
    for (int i = 0; i < N_MERGES; i++)
        n += (size_t)sprintf(json + n, "%s\"%s %s\"", i ? ", " : "",
                             merges->tokens[merges->pairs[i][0]],
                             merges->tokens[merges->pairs[i][1]]);
    (void)sprintf(json + n, "]}");
}

/* Again and again the first merge of the list that some pair has, at its leftmost place. */
static int merge(const struct merges *merges, const char *word, int *ids) {
    int n = (int)strlen(word);

    for (int i = 0; i < n; i++)
        ids[i] = word[i] - 'a';
    for (int rank = 0; rank < N_MERGES; rank++) {
        int at = 0;

        while (at + 1 < n &&
               (ids[at] != merges->pairs[rank][0] || ids[at + 1] != merges->pairs[rank][1]))
            at++;
        if (at + 1 >= n)
            continue;
        ids[at] = N_LETTERS + rank;
        memmove(ids + at + 1, ids + at + 2, (size_t)(n - at - 2) * sizeof(*ids));
        n--;
        rank = -1; /* a merge may make pairs of lower ranks */
    }
    return n;
}

static void test_by_definition(void **state) {
    static const int longest[] = {8, 40, 260, WORD_MAX};
    static char json[JSON_MAX], word[WORD_MAX + 1];
    static struct leat_token tokens[WORD_MAX];
    static struct merges merges;
    static int ids[WORD_MAX];
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct test_model test;

        draw_merges(&merges, &random);
        print_merges(&merges, json);
        if (test_model_init(&test, &leat_model_bpe, json, false, &err) < 0)
            fail_msg("%s", err.message);
        for (int i = 0; i < 40; i++) {
            size_t n = 1 + (size_t)random_below(&random, (uint64_t)longest[i % 4]);
            uint64_t n_letters = 1 + random_below(&random, N_LETTERS);
            int n_ids;

            for (size_t k = 0; k < n; k++)
                word[k] = (char)('a' + random_below(&random, n_letters));
            word[n] = '\0';
            n_ids = merge(&merges, word, ids);
            assert_int_equal(test_model_encode(&test, word, n, tokens), n_ids);
            for (int k = 0; k < n_ids; k++)
                assert_int_equal(tokens[k].id, ids[k]);
        }
        test_model_deinit(&test);
    }
}

/* ---- characters of several bytes ---- */

#define N_BYTE_MERGES  50
#define CHARACTERS_MAX 24 /* of a word */
#define BYTES_MAX      (4 * CHARACTERS_MAX)

struct byte_token {
    uint8_t bytes[BYTES_MAX];
    size_t n_bytes;
};

struct byte_merges {
    struct byte_token tokens[256 + N_BYTE_MERGES];
    int n_tokens;
    int pairs[N_BYTE_MERGES][3]; /* left, right, what they become */
    int n_pairs;
};

/* Characters that share bytes, of one to four of them. */
static size_t draw_word(uint8_t *word, size_t n_characters, uint64_t *random) {
    static const char *const characters[] = {"a",
                                             "\xc3\xa9",
                                             "\xc3\x81",
                                             "\xe3\x81\x82",
                                             "\xe3\x81\x84",
                                             "\xe3\x82\x81",
                                             "\xe4\x82\x81",
                                             "\xf0\x9f\x81\x82",
                                             "b",
                                             "\xe4\x81\xa9"};
    uint64_t n_different = 2 + random_below(random, 9);
    size_t n = 0;

    for (size_t i = 0; i < n_characters; i++) {
        const char *character = characters[random_below(random, n_different)];

        memcpy(word + n, character, strlen(character));
        n += strlen(character);
    }
    return n;
}

/* BPE by its definition, as merge() above; returns the number of ids. */
static int merge_bytes(const struct byte_merges *merges, const uint8_t *word, size_t n_bytes,
                       int *ids) {
    int n = (int)n_bytes;

    for (int i = 0; i < n; i++)
        ids[i] = word[i];
    for (int rank = 0; rank < merges->n_pairs; rank++) {
        const int *pair = merges->pairs[rank];
        int at = 0;

        while (at + 1 < n && (ids[at] != pair[0] || ids[at + 1] != pair[1]))
            at++;
        if (at + 1 >= n)
            continue;
        ids[at] = pair[2];
        memmove(ids + at + 1, ids + at + 2, (size_t)(n - at - 2) * sizeof(*ids));
        n--;
        rank = -1;
    }
    return n;
}

static int token_of(struct byte_merges *merges, int left, int right) {
    struct byte_token token = merges->tokens[left];

    memcpy(token.bytes + token.n_bytes, merges->tokens[right].bytes, merges->tokens[right].n_bytes);
    token.n_bytes += merges->tokens[right].n_bytes;
    for (int i = 0; i < merges->n_tokens; i++)
        if (merges->tokens[i].n_bytes == token.n_bytes &&
            memcmp(merges->tokens[i].bytes, token.bytes, token.n_bytes) == 0)
            return i;
    merges->tokens[merges->n_tokens] = token;
    return merges->n_tokens++;
}

/* Neighbours of words, as training finds them; some merges change their ranks. */
static void draw_byte_merges(struct byte_merges *merges, uint64_t *random) {
    uint64_t disorder = random_below(random, 3); /* 0: none */

    memset(merges, 0, sizeof(*merges));
    for (merges->n_tokens = 0; merges->n_tokens < 256; merges->n_tokens++)
        merges->tokens[merges->n_tokens] =
            (struct byte_token){.bytes = {(uint8_t)merges->n_tokens}, .n_bytes = 1};
    while (merges->n_pairs < N_BYTE_MERGES) {
        uint8_t word[BYTES_MAX];
        int ids[BYTES_MAX], n, *pair = merges->pairs[merges->n_pairs];

        n = merge_bytes(merges, word, draw_word(word, 3, random), ids);
        if (n < 2)
            continue;
        n = (int)random_below(random, (uint64_t)n - 1);
        pair[0] = ids[n];
        pair[1] = ids[n + 1];
        pair[2] = token_of(merges, ids[n], ids[n + 1]);
        merges->n_pairs++;
        if (disorder && random_below(random, 4) < disorder) {
            int *other = merges->pairs[random_below(random, (uint64_t)merges->n_pairs)], kept[3];

            memcpy(kept, other, sizeof(kept));
            memcpy(other, pair, sizeof(kept));
            memcpy(pair, kept, sizeof(kept));
        }
    }
}

static void print_byte_merges(const struct byte_merges *merges, char *json) {
    size_t n = (size_t)sprintf(json, "{\"type\": \"BPE\", \"vocab\": {");

    for (int i = 0; i < merges->n_tokens; i++) {
        n += (size_t)sprintf(json + n, "%s\"", i ? ", " : "");
        n += print_bytes(json + n, merges->tokens[i].bytes, merges->tokens[i].n_bytes);
        n += (size_t)sprintf(json + n, "\": %d", i);
    }
    n += (size_t)sprintf(json + n, "}, \"merges\": [");
    for (int i = 0; i < merges->n_pairs; i++) {
        const struct byte_token *left = &merges->tokens[merges->pairs[i][0]];
        const struct byte_token *right = &merges->tokens[merges->pairs[i][1]];

        n += (size_t)sprintf(json + n, "%s\"", i ? ", " : "");
        n += print_bytes(json + n, left->bytes, left->n_bytes);
        json[n++] = ' ';
        n += print_bytes(json + n, right->bytes, right->n_bytes);
        json[n++] = '"';
    }
    (void)sprintf(json + n, "]}");
}

/* Characters that begin as one symbol change no ids, whatever the merges are. */
static void test_characters(void **state) {
    static char json[1 << 16];
    static struct byte_merges merges;
    struct leat_token tokens[BYTES_MAX + LEAT_MODEL_IDS_SLACK];
    int ids[BYTES_MAX];
    uint64_t random = 1;
    size_t n_characters = 0;

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct test_model test;

        draw_byte_merges(&merges, &random);
        print_byte_merges(&merges, json);
        if (test_model_init(&test, &leat_model_bpe, json, true, &err) < 0)
            fail_msg("%s", err.message);
        n_characters += ((const struct leat_bpe *)test.model)->characters.n - 1;
        for (int i = 0; i < 100; i++) {
            uint8_t word[BYTES_MAX + LEAT_TEXT_PADDING] = {0};
            size_t n = draw_word(word, 1 + random_below(&random, CHARACTERS_MAX), &random);
            int n_ids = merge_bytes(&merges, word, n, ids);

            assert_int_equal(test_model_encode(&test, (char *)word, n, tokens), n_ids);
            for (int k = 0; k < n_ids; k++)
                assert_int_equal(tokens[k].id, ids[k]);
        }
        test_model_deinit(&test);
    }
    assert_true(n_characters > 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_words),
        cmocka_unit_test(test_by_definition),
        cmocka_unit_test(test_characters),
    };

    return shared_simd_run_twice(tests, NULL, NULL);
}
