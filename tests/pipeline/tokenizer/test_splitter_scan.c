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
    "a",   "b",     "C",      "D",  " ",      " ",      "\n",    "\r",     "\t",   "'",
    "'s",  "'LL",   "'re",    "'d", "1",      "2",      "3",     "!",      "/",    "(",
    "é",   "漢",    "\u00a0", "ſ",  "\u0301", "½",      "hello", "World",  "  ",   "\n\n",
    " \n", "12345", "\x01",   "//", "\u2028", "don't",  "I've",  "...",    "\x7f", "ǅ",
    "カ",  "ª",     "😀",      "Ж",  "\x0b",   "\u3000", "$",     "\u0378", "²",    "HTTPs",
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

static void ascii_is_unicode(void **state) {
    (void)state;
    for (uint32_t c = 0; c < 128; c++)
        assert_int_equal(leat_scan_ascii[c], leat_unicode_classes(c) & LEAT_SCAN_CLASSES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanners_are_their_regexes),
        cmocka_unit_test(ascii_is_unicode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
