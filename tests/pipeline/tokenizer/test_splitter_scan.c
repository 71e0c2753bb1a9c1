/* test_splitter_scan.c: pipeline/tokenizer/split/scan*.c: scanners give the words that their
 * regexes do, in any portions; the table for ASCII says what those of Unicode say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/split/scan_text.h"
#include "tests/pipeline/shared_grammar.h"
#include "tests/proto/shared_random.h"

#define TEXT_BYTES 1024

static const char *const parts[] = {
    "a",      "b",      "C",      "D",   " ",      " ",      "\n",    "\r",     "\t",   "'",
    "'s",     "'LL",    "'re",    "'d",  "1",      "2",      "3",     "!",      "/",    "(",
    "é",      "漢",     "\u00a0", "ſ",   "\u0301", "½",      "hello", "World",  "  ",   "\n\n",
    " \n",    "12345",  "\x01",   "//",  "\u2028", "don't",  "I've",  "...",    "\x7f", "ǅ",
    "カ",     "ª",      "😀",      "Ж",   "\x0b",   "\u3000", "$",     "\u0378", "²",    "HTTPs",
    "\u2581", "\u2582", "\u2681", "'rE", "I'vE",   "x'lL",   "'T",    "'M",     "'ſ",   "a'Re",
    "'r",     "'v",     "'l",     "'ž",  "ł",
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* A text of a few kinds of parts, so that runs of each come about. */
static uint32_t write_text(uint64_t *random, uint8_t *text) {
    size_t kinds[12], n_kinds = 2 + random_below(random, 11), n_bytes = 0;
    size_t n_wanted = 1 + random_below(random, TEXT_BYTES - 32);

    for (size_t i = 0; i < n_kinds; i++)
        kinds[i] = random_below(random, N_PARTS);
    while (n_bytes < n_wanted) {
        size_t kind = kinds[random_below(random, n_kinds)], n;
        if (kinds[0] % 2 && random_below(random, 4) == 0)
            kind = random_below(random, 4);
        n = strlen(parts[kind]);
        memcpy(text + n_bytes, parts[kind], n);
        n_bytes += n;
    }
    return (uint32_t)n_bytes;
}

static void scanners_are_their_regexes(void **state) {
    uint8_t text[TEXT_BYTES];
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 1500; round++) {
        uint32_t n_bytes = write_text(&random, text);
        for (size_t i = 0; i < shared_n_grammars; i++) {
            size_t n_max = 1 + random_below(&random, round % 2 ? 2000 : 100);
            const char *wrong = shared_grammar_compare(i, text, n_bytes, n_max);
            if (wrong)
                fail_msg("grammar %zu, %zu words at a time: %s: \"%.*s\"", i, n_max, wrong,
                         (int)n_bytes, (char *)text);
        }
    }
    shared_grammar_free();
}

/* ---- scanners that go by the class of each character ---- */

enum { DROPPED = -1, SINGLE = -2 }; /* else characters of the same kind make a word */

static int kind_of_words(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_RUST_WORD ? 1 : classes & LEAT_UNICODE_RUST_SPACE ? DROPPED : 2;
}

static int kind_of_bert(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_RUST_SPACE         ? DROPPED
           : classes & LEAT_UNICODE_BERT_PUNCTUATION ? SINGLE
                                                     : 1;
}

static int kind_of_nonspace(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_RUST_SPACE ? DROPPED : 1;
}

static int kind_of_number(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_RUST_NUMERIC ? 1 : 2;
}

static int kind_of_digit(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_RUST_NUMERIC ? SINGLE : 1;
}

static int kind_of_sign(const uint8_t *at, uint32_t classes) {
    (void)at;
    return classes & LEAT_UNICODE_BERT_PUNCTUATION ? 1 : 2;
}

/* Those of U+00B2, B3, B9, BC to BE are numeric, and stand for bytes of the same number. */
static int kind_of_mapped(const uint8_t *at, uint32_t classes) {
    (void)classes;
    return leat_unicode_classes(*at) & LEAT_UNICODE_RUST_NUMERIC ? 1 : 2;
}

static int kind_of_mapped_digit(const uint8_t *at, uint32_t classes) {
    return kind_of_mapped(at, classes) == 1 ? SINGLE : 1;
}

static const struct {
    const struct leat_scanner *scanner;
    int (*kind)(const uint8_t *at, uint32_t classes);
    bool is_bytes; /* goes by bytes, not by characters */
} class_scanners[] = {
    {&leat_scanner_words, kind_of_words, false},
    {&leat_scanner_bert, kind_of_bert, false},
    {&leat_scanner_nonspace, kind_of_nonspace, false},
    {&leat_scanner_numeric_runs, kind_of_number, false},
    {&leat_scanner_numeric_single, kind_of_digit, false},
    {&leat_scanner_punctuation, kind_of_sign, false},
    {&leat_scanner_mapped_numeric_runs, kind_of_mapped, true},
    {&leat_scanner_mapped_numeric_single, kind_of_mapped_digit, true},
    {&leat_scanner_metaspace, NULL, false},
};

/* The words, one character after another. */
static size_t cut_by_kind(size_t scanner, const uint8_t *text, uint32_t n_bytes,
                          struct leat_range *words) {
    size_t n_words = 0;
    int last = DROPPED;
    uint32_t n = 1;

    for (uint32_t at = 0; at < n_bytes; at += n) {
        uint32_t classes = 0;
        int kind = 1;

        if (!class_scanners[scanner].is_bytes)
            classes = leat_unicode_classes(leat_unicode_decode(text + at, &n));
        if (class_scanners[scanner].kind)
            kind = class_scanners[scanner].kind(text + at, classes);
        else if (n == 3 && memcmp(text + at, "\u2581", 3) == 0)
            last = DROPPED;
        if (kind != DROPPED && (kind == SINGLE || kind != last))
            words[n_words++].start = at;
        if (kind != DROPPED)
            words[n_words - 1].end = at + n;
        last = kind;
    }
    return n_words;
}

static void check_scan(const char *name, leat_scan_fn *scan, const uint8_t *text, uint32_t n_bytes,
                       size_t n_max, const struct leat_range *expected, size_t n_expected) {
    struct leat_range words[TEXT_BYTES];
    size_t n = 0, n_new;
    uint32_t at = 0;

    do {
        n_new =
            scan(text, &at, n_bytes, words + n, n_max < TEXT_BYTES - n ? n_max : TEXT_BYTES - n);
        n += n_new;
    } while (n_new > 0);
    if (n != n_expected || memcmp(words, expected, n * sizeof(*words)) != 0)
        fail_msg("%s: %zu words, not %zu, in \"%.*s\"", name, n, n_expected, (int)n_bytes,
                 (const char *)text);
    assert_int_equal(at, n_bytes);
}

static void classes_make_words(void **state) {
    struct leat_range expected[TEXT_BYTES];
    uint8_t text[TEXT_BYTES + LEAT_TEXT_PADDING];
    uint64_t random = 2;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint32_t n_bytes = write_text(&random, text);
        size_t n_max = 1 + random_below(&random, round % 2 ? TEXT_BYTES - 1 : 20);

        for (size_t i = 0; i < sizeof(class_scanners) / sizeof(*class_scanners); i++) {
            const struct leat_scanner *scanner = class_scanners[i].scanner;
            size_t n;

            for (int k = 0; class_scanners[i].is_bytes && k < 32; k++)
                text[random_below(&random, n_bytes)] = (uint8_t)random_below(&random, 256);
            /* What is behind the end must not matter. */
            memset(text + n_bytes, round % 3 ? round % 3 == 1 ? 'a' : '7' : ' ', LEAT_TEXT_PADDING);
            n = cut_by_kind(i, text, n_bytes, expected);
            check_scan(scanner->name, scanner->scan, text, n_bytes, n_max, expected, n);
            check_scan(scanner->name, leat_scanner_run(scanner), text, n_bytes, n_max, expected, n);
            if (class_scanners[i].is_bytes)
                n_bytes = write_text(&random, text);
        }
    }
}

static void ascii_is_unicode(void **state) {
    (void)state;
    for (uint32_t c = 0; c < 128; c++)
        assert_int_equal(leat_scan_ascii[c], leat_unicode_classes(c) & LEAT_SCAN_CLASSES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanners_are_their_regexes),
        cmocka_unit_test(classes_make_words),
        cmocka_unit_test(ascii_is_unicode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
