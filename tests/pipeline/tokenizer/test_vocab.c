/* Vocabularies: the three kinds of file, the encodings, duplicates, limits, and what errors say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/chartrie/vocab.h"

#define RAW        LEAT_TOKEN_ENCODING_RAW
#define BYTE_LEVEL LEAT_TOKEN_ENCODING_BYTE_LEVEL
#define METASPACE  LEAT_TOKEN_ENCODING_METASPACE

static struct leat_vocab *load(const char *data, size_t n, enum leat_token_encoding encoding,
                               const char *file) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_vocab *vocab = NULL;

    if (leat_vocab_new(data, n, encoding, file, &vocab, &err) < 0)
        fail_msg("%s", err.message);
    return vocab;
}

static struct leat_vocab *load_text(const char *text, enum leat_token_encoding encoding) {
    return load(text, strlen(text), encoding, "vocab");
}

/* Loading fails with an error whose printed form holds `expected`. */
static void refuse(const char *text, enum leat_token_encoding encoding, const char *expected) {
    struct leat_error err = LEAT_ERROR_INIT;
    char printed[LEAT_ERROR_PRINT_MAX];
    struct leat_vocab *vocab = NULL;

    assert_true(leat_vocab_new(text, strlen(text), encoding, "vocab", &vocab, &err) < 0);
    assert_null(vocab);
    leat_error_print(&err, printed, sizeof(printed));
    if (!strstr(printed, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, printed);
}

/* The token of that id, or NULL. Of two, the one that did not give way. */
static const struct leat_vocab_token *find(const struct leat_vocab *vocab, int64_t id) {
    for (size_t i = 0; i < vocab->n_tokens; i++)
        if (vocab->tokens[i].id == id)
            return &vocab->tokens[i];
    return NULL;
}

static void check_token(const struct leat_vocab *vocab, int64_t id, const char *bytes, size_t n) {
    const struct leat_vocab_token *token = find(vocab, id);

    assert_non_null(token);
    assert_int_equal(token->n_bytes, n);
    assert_memory_equal(token->bytes, bytes, n);
}

static void check_text(const struct leat_vocab *vocab, int64_t id, const char *text) {
    check_token(vocab, id, text, strlen(text));
}

static void test_lines(void **state) {
    struct leat_vocab *vocab = load(" a \r\n\tb\n\0c\nd", 12, RAW, "vocab.txt");

    (void)state;
    assert_int_equal(vocab->n_tokens, 4);
    check_text(vocab, 0, " a \r"); /* nothing is stripped */
    check_text(vocab, 1, "\tb");
    check_token(vocab, 2, "\0c", 2);
    check_text(vocab, 3, "d"); /* no final line end */
    assert_null(find(vocab, 4));
    assert_null(find(vocab, -1));
    leat_vocab_free(vocab);
    vocab = load_text("{\nb\n", RAW); /* begins like JSON, ends otherwise */
    assert_int_equal(vocab->n_tokens, 2);
    leat_vocab_free(vocab);
}

static void test_bad_lines(void **state) {
    (void)state;
    refuse("", RAW, "no tokens");
    refuse("a\n\nb\n", RAW, "vocab:2: the token with id");
    refuse("a\nb\nc\nb\n", RAW, "vocab:4: the lines 2 and 4 have the same token, \"b\"");
    refuse("a\r\nb\r\n", RAW, "vocab:1: every line ends in CR LF");
    refuse("\xc4\xa0x\nb\n x\n", BYTE_LEVEL, "the lines 1 and 3 have the same token, \" x\"");
}

static void test_object(void **state) {
    struct leat_vocab *vocab = load_text(" {\"b\": 7, \"a\": 0, \"model\": 3, \"\\n\": 9}", RAW);

    (void)state;
    assert_int_equal(vocab->n_tokens, 4);
    check_text(vocab, 0, "a");
    check_text(vocab, 3, "model");
    check_text(vocab, 7, "b");
    check_text(vocab, 9, "\n");
    assert_int_equal(vocab->pad_id, -1);
    leat_vocab_free(vocab);
}

static void test_bad_object(void **state) {
    (void)state;
    refuse("{\"a\": 0,}", RAW, "vocab:1");
    refuse("{\"a\": \"0\"}", RAW, "the id of token \"a\" is a string");
    refuse("{\"a\": -1}", RAW, "the id -1 is outside 0..");
    refuse("{\"a\": 2147483648}", RAW, "outside 0..2147483647");
    refuse("{\"\": 1}", RAW, "the token with id");
    refuse("{\"a\": 1, \"b\": 1}", RAW, "two tokens have the id 1");
    refuse("{\"a\": 1, \"a\": 2}", RAW, "the ids 1 and 2 have the same token, \"a\"");
    refuse("{}", RAW, "no tokens");
}

static void test_tokenizer_object(void **state) {
    static const char text[] =
        "{\"version\": \"1.0\", \"padding\": {\"pad_id\": 3},"
        " \"added_tokens\": [{\"id\": 0, \"content\": \"<s>\"}, {\"id\": 4, \"content\": \"  \"}],"
        " \"model\": {\"type\": \"BPE\", \"unk_token\": \"b\", \"vocab\":"
        " {\"<s>\": 0, \"b\": 1, \"\xc4\xa0\xc4\xa0\": 2, \"\xc4\xa0the\": 3}, \"merges\": []}}";
    struct leat_vocab *vocab = load_text(text, BYTE_LEVEL);

    (void)state;
    assert_int_equal(vocab->unk_id, 1);
    assert_int_equal(vocab->pad_id, 3);
    assert_false(vocab->has_costs);
    check_text(vocab, 0, "<s>");
    check_text(vocab, 3, " the");
    check_text(vocab, 4, "  ");
    assert_false(find(vocab, 4)->is_hidden);
    assert_true(find(vocab, 2)->is_hidden); /* gave way to the added token */
    leat_vocab_free(vocab);
}

static void test_tokenizer_unigram(void **state) {
    static const char text[] =
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<pad>\"}, {\"id\": 9, \"content\": \"X\"}],"
        " \"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\":"
        " [[\"<pad>\", 0], [\"\xe2\x96\x81the\", -3.5], [\"<unk>\", 0.0], [\" \", -2],"
        " [\"<0x20>\", -1], [\"<0x41>\", -9]]}}";
    struct leat_vocab *vocab = load_text(text, METASPACE);

    (void)state;
    assert_true(vocab->has_costs);
    assert_int_equal(vocab->unk_id, 2);
    assert_int_equal(vocab->pad_id, 0);
    check_text(vocab, 1, " the");
    assert_true(find(vocab, 1)->cost == 3.5);
    assert_true(find(vocab, 9)->cost == 0.0);
    check_text(vocab, 4, " ");
    assert_true(find(vocab, 4)->is_hidden); /* gave way to the piece " " */
    check_text(vocab, 5, "A");
    assert_false(find(vocab, 5)->is_hidden);
    leat_vocab_free(vocab);
}

static void test_bad_tokenizer(void **state) {
    (void)state;
    refuse("{\"model\": {}}", RAW, "`model` has no `vocab`");
    refuse("{\"model\": {\"vocab\": 5}}", RAW, "model.vocab: is an integer");
    refuse("{\"model\": {\"vocab\": [[\"a\"]]}}", RAW, "must be [piece, score]");
    refuse("{\"model\": {\"vocab\": [[1, 2]]}}", RAW, "a string (the piece)");
    refuse("{\"model\": {\"vocab\": [[\"a\", \"b\"]]}}", RAW, "a number (the score)");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [5]}", RAW, "added_tokens");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": [{\"id\": 1}]}", RAW, "content");
    refuse("{\"model\": {\"vocab\": {\"a\": 0}}, \"added_tokens\": {}}", RAW, "an array");
}

/* All 256 bytes in GPT-2's alphabet come back. */
static void test_byte_level(void **state) {
    char token[3];
    uint32_t other = 0x100;

    (void)state;
    for (uint32_t byte = 0; byte < 256; byte++) {
        bool is_plain = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
        uint32_t code = is_plain ? byte : other++;
        uint8_t decoded[3];
        bool is_byte;
        size_t n = 1;

        token[0] = (char)code;
        if (code >= 0x80) {
            token[0] = (char)(0xc0 | code >> 6);
            token[1] = (char)(0x80 | (code & 0x3f));
            n = 2;
        }
        assert_int_equal(
            leat_token_decode(BYTE_LEVEL, (const uint8_t *)token, n, decoded, &is_byte), 1);
        assert_int_equal(decoded[0], byte);
    }
    assert_int_equal(other, 0x144);
}

static void check_decode(enum leat_token_encoding encoding, const char *token,
                         const char *expected) {
    uint8_t decoded[64];
    bool is_byte;
    size_t n =
        leat_token_decode(encoding, (const uint8_t *)token, strlen(token), decoded, &is_byte);

    assert_int_equal(n, strlen(expected));
    assert_memory_equal(decoded, expected, n);
}

static void test_decode(void **state) {
    (void)state;
    check_decode(BYTE_LEVEL, "a b", "a b");                     /* a blank is not in the alphabet */
    check_decode(BYTE_LEVEL, "\xe2\x96\x81x", "\xe2\x96\x81x"); /* nor is this */
    check_decode(BYTE_LEVEL, "\xc3\x83\xc2\xa9", "\xc3\xa9");
    check_decode(METASPACE, "\xe2\x96\x81\xe2\x96\x81x\xe2\x96", "  x\xe2\x96");
    check_decode(METASPACE, "<0x0a>", "\n");
    check_decode(METASPACE, "<0x0G>", "<0x0G>");
    check_decode(METASPACE, "<0x0A>>", "<0x0A>>");
    check_decode(RAW, "<0x0A>\xe2\x96\x81", "<0x0A>\xe2\x96\x81");
}

static void refuse_costs(const char *text, const char *expected) {
    struct leat_vocab *vocab = load_text("a\nb\nc\n", RAW);
    struct leat_error err = LEAT_ERROR_INIT;
    char printed[LEAT_ERROR_PRINT_MAX];

    assert_true(leat_vocab_read_costs(vocab, text, strlen(text), "scores", &err) < 0);
    assert_false(vocab->has_costs);
    leat_error_print(&err, printed, sizeof(printed));
    if (!strstr(printed, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, printed);
    leat_vocab_free(vocab);
}

static void test_costs(void **state) {
    struct leat_vocab *vocab = load_text("a\nb\nc\n", RAW);
    struct leat_error err = LEAT_ERROR_INIT;
    static const char text[] = "1.5\r\n-2e3 \n0";

    (void)state;
    assert_int_equal(leat_vocab_read_costs(vocab, text, strlen(text), "scores", &err), 0);
    assert_true(vocab->has_costs);
    assert_true(vocab->tokens[0].cost == 1.5);
    assert_true(vocab->tokens[1].cost == -2000);
    assert_true(vocab->tokens[2].cost == 0);
    leat_vocab_free(vocab);
    refuse_costs("1\n2\n", "scores:2: there are 2 costs, but the highest id is 2: give 3");
    refuse_costs("1\n2\n3\n4\n", "more costs than ids");
    refuse_costs("1\nx\n3\n", "scores:2: \"x\" is not a finite number");
    refuse_costs("1\n\n3\n", "scores:2");
    refuse_costs("1\ninf\n3\n", "scores:2: \"inf\"");
    refuse_costs("1\n1e999\n3\n", "scores:2");
    refuse_costs("", "0 costs");
}

static void test_limits(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_vocab *vocab = NULL;
    char *text = malloc(LEAT_VOCAB_TOKEN_BYTES_MAX + 2);

    (void)state;
    memset(text, 'x', LEAT_VOCAB_TOKEN_BYTES_MAX + 2);
    vocab = load(text, LEAT_VOCAB_TOKEN_BYTES_MAX, RAW, "vocab");
    leat_vocab_free(vocab);
    assert_true(leat_vocab_new(text, LEAT_VOCAB_TOKEN_BYTES_MAX + 1, RAW, "vocab", &vocab, &err) <
                0);
    assert_non_null(strstr(err.message, "65536 bytes"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_object),
        cmocka_unit_test(test_bad_object),
        cmocka_unit_test(test_tokenizer_object),
        cmocka_unit_test(test_tokenizer_unigram),
        cmocka_unit_test(test_bad_tokenizer),
        cmocka_unit_test(test_byte_level),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
