/* shared_grammar.c: see shared_grammar.h. */
#include "tests/pipeline/shared_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/split/regex.h"
#include "pipeline/tokenizer/split/scan.h"

#define SHORT  "'s|'t|'re|'ve|'m|'ll|'d"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define UPPER  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER  "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BLANK  "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const struct shared_grammar shared_grammars[] = {
    {SHORT "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", false},
    {"(?i:" SHORT ")|" BEFORE "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" BLANK, false},
    {"(?i:" SHORT ")|" BEFORE "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" BLANK, true},
    {"(?i:" SHORT ")|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" BLANK,
     false},
    {BEFORE UPPER "*" LOWER "+(?i:" SHORT ")?|" BEFORE UPPER "+" LOWER "*(?i:" SHORT ")?"
                  "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANK,
     false},
    {BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER
                  "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANK,
     false},
    {"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
     "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     false},
    {"[一-龥぀-ゟ゠-ヿ]+", false},
    {"\\p{N}{1,3}", false},
    {"\\p{N}", false},
    {"[0-9][0-9][0-9]", false},
    {SHORT "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", true},
};
const size_t shared_n_grammars = sizeof(shared_grammars) / sizeof(shared_grammars[0]);

static struct leat_regex *regexes[sizeof(shared_grammars) / sizeof(shared_grammars[0])];
static struct leat_regex_context *context;

struct words {
    struct leat_range *items;
    size_t n;
};

static void put(struct words *words, uint32_t start, uint32_t end) {
    if (start < end)
        words->items[words->n++] = (struct leat_range){start, end};
}

static void cut_by_regex(size_t grammar, const uint8_t *text, uint32_t n_bytes,
                         struct words *words) {
    struct leat_regex_search search = {.text = text, .n_bytes = n_bytes};
    const char *pattern = shared_grammars[grammar].pattern;
    struct leat_range match;
    uint32_t at = 0;

    if (!context && leat_regex_context_new(&context) < 0)
        abort();
    if (!regexes[grammar] &&
        leat_regex_new(pattern, strlen(pattern), &regexes[grammar], LEAT_ERROR_IGNORED) < 0)
        abort();
    while (leat_regex_next(regexes[grammar], context, &search, &match, LEAT_ERROR_IGNORED) > 0) {
        if (!shared_grammars[grammar].drops_gaps)
            put(words, at, match.start);
        put(words, match.start, match.end);
        at = match.end;
    }
    if (!shared_grammars[grammar].drops_gaps)
        put(words, at, n_bytes);
}

static bool agrees(leat_scan_fn *scan, const uint8_t *text, uint32_t n_bytes, size_t n_max,
                   const struct words *expected, struct words *words) {
    uint32_t at = 0;
    size_t n;

    words->n = 0;
    do {
        size_t n_room = n_bytes + 1 - words->n;
        n = scan(text, &at, n_bytes, words->items + words->n, n_room < n_max ? n_room : n_max);
        words->n += n;
    } while (n > 0);
    return words->n == expected->n &&
           memcmp(words->items, expected->items, words->n * sizeof(*words->items)) == 0;
}

const char *shared_grammar_compare(size_t grammar, const uint8_t *text, uint32_t n_bytes,
                                   size_t n_max) {
    const char *pattern = shared_grammars[grammar].pattern;
    const struct leat_scanner *scanner =
        leat_scanner_find(pattern, strlen(pattern), shared_grammars[grammar].drops_gaps);
    struct words expected = {0}, words = {0};
    uint8_t *padded = malloc((size_t)n_bytes + LEAT_TEXT_PADDING);
    const char *wrong = NULL;

    expected.items = malloc(((size_t)n_bytes + 1) * sizeof(*expected.items));
    words.items = malloc(((size_t)n_bytes + 1) * sizeof(*words.items));
    if (!padded || !expected.items || !words.items)
        abort();
    memcpy(padded, text, n_bytes);
    memset(padded + n_bytes, 'a', LEAT_TEXT_PADDING); /* must not matter */
    cut_by_regex(grammar, padded, n_bytes, &expected);
    if (!scanner)
        wrong = "the regex has no scanner";
    else if (!agrees(scanner->scan, padded, n_bytes, n_max, &expected, &words))
        wrong = "the scanner is wrong";
    else if (!agrees(leat_scanner_run(scanner), padded, n_bytes, n_max, &expected, &words))
        wrong = "the scanner for this machine is wrong";
    free(padded);
    free(expected.items);
    free(words.items);
    return wrong;
}

void shared_grammar_free(void) {
    for (size_t i = 0; i < shared_n_grammars; i++)
        regexes[i] = leat_regex_free(regexes[i]);
    context = leat_regex_context_free(context);
}
