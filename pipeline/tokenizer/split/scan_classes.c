/* scan_classes.c: scanners that go by the class of each character: CLIP's regex, and the
 * pre-tokenizers Whitespace, BertPreTokenizer, WhitespaceSplit, Digits, Punctuation, Metaspace. */
#include "pipeline/tokenizer/split/scan_text.h"

#define LETTER      LEAT_UNICODE_LETTER
#define NUMBER      LEAT_UNICODE_NUMBER
#define SPACE       LEAT_UNICODE_SPACE
#define NUMERIC     LEAT_UNICODE_RUST_NUMERIC
#define RUST_SPACE  LEAT_UNICODE_RUST_SPACE
#define RUST_WORD   LEAT_UNICODE_RUST_WORD
#define PUNCTUATION LEAT_UNICODE_BERT_PUNCTUATION
#define SEPARATOR   LEAT_UNICODE_BERT_SEPARATOR

LEAT_DEFINE_RUN(visible, 0, 0x21, 0x7f - 0x21, false)
LEAT_DEFINE_RUN(others, 0, '9' + 1, 245, true)

LEAT_ALWAYS_INLINE const uint8_t *skip_space(const uint8_t *at, const uint8_t *end) {
    return leat_scan_while(at, end, SPACE);
}

LEAT_ALWAYS_INLINE const uint8_t *skip_rust_space(const uint8_t *at, const uint8_t *end) {
    return leat_scan_while(at, end, RUST_SPACE);
}

/* 's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+, matches only */
LEAT_ALWAYS_INLINE const uint8_t *step_clip(const uint8_t *at, const uint8_t *end,
                                            leat_run_fn *letters) {
    uint32_t n, classes = leat_scan_classes(at, &n);
    const uint8_t *short_end = *at == '\'' ? leat_scan_contraction(at, end, false) : NULL;

    if (short_end)
        return short_end;
    if (classes & LETTER)
        return leat_scan_letters(at, end, LETTER, letters);
    if (classes & NUMBER)
        return at + n;
    return leat_scan_until(at, end, LETTER | NUMBER | SPACE);
}

/* \w+|[^\w\s]+ of the crate `regex`, matches only */
LEAT_ALWAYS_INLINE const uint8_t *step_words(const uint8_t *at, const uint8_t *end,
                                             leat_run_fn *letters) {
    const uint8_t *start = at;
    uint32_t n;

    if (!(leat_scan_classes(at, &n) & RUST_WORD))
        return leat_scan_until(at, end, RUST_WORD | RUST_SPACE);
    do {
        at = leat_scan_letters(at, end, RUST_WORD, letters);
        start = at;
        at = leat_scan_while(at, end, RUST_WORD);
    } while (at > start);
    return at;
}

/* White space is dropped, punctuation is single. */
LEAT_ALWAYS_INLINE const uint8_t *step_bert(const uint8_t *at, const uint8_t *end,
                                            leat_run_fn *letters) {
    uint32_t n;

    if (leat_scan_classes(at, &n) & PUNCTUATION)
        return at + n;
    return leat_scan_gap(at, end, SEPARATOR, letters);
}

LEAT_ALWAYS_INLINE const uint8_t *step_nonspace(const uint8_t *at, const uint8_t *end,
                                                leat_run_fn *visible) {
    return leat_scan_gap(at, end, RUST_SPACE, visible);
}

LEAT_ALWAYS_INLINE const uint8_t *step_numeric_runs(const uint8_t *at, const uint8_t *end,
                                                    leat_run_fn *others) {
    uint32_t n;

    if (leat_scan_classes(at, &n) & NUMERIC)
        return leat_scan_while(at, end, NUMERIC);
    return leat_scan_gap(at, end, NUMERIC, others);
}

LEAT_ALWAYS_INLINE const uint8_t *step_numeric_single(const uint8_t *at, const uint8_t *end,
                                                      leat_run_fn *others) {
    uint32_t n;

    if (leat_scan_classes(at, &n) & NUMERIC)
        return at + n;
    return leat_scan_gap(at, end, NUMERIC, others);
}

LEAT_ALWAYS_INLINE const uint8_t *step_punctuation(const uint8_t *at, const uint8_t *end,
                                                   leat_run_fn *letters) {
    uint32_t n;

    if (leat_scan_classes(at, &n) & PUNCTUATION)
        return leat_scan_while(at, end, PUNCTUATION);
    return leat_scan_gap(at, end, PUNCTUATION, letters);
}

LEAT_ALWAYS_INLINE bool is_digit(uint8_t c) {
    return (uint8_t)(c - '0') < 10;
}

/* [0-9][0-9][0-9], and what is between; of characters as of bytes in GPT-2's alphabet */
LEAT_ALWAYS_INLINE const uint8_t *step_digits3(const uint8_t *at, const uint8_t *end,
                                               leat_run_fn *others) {
    const uint8_t *start = at;

    for (;;) {
        at = others(at, end);
        if (at >= end)
            return end;
        if (end - at >= 3 && is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]))
            return at == start ? at + 3 : at;
        at++;
    }
}

/* The bytes that GPT-2's alphabet takes for the numeric characters 0-9 and U+00B2 to U+00BE. */
LEAT_ALWAYS_INLINE bool is_mapped_numeric(uint8_t c) {
    return is_digit(c) || c == 0xb2 || c == 0xb3 || c == 0xb9 || (c >= 0xbc && c <= 0xbe);
}

LEAT_ALWAYS_INLINE const uint8_t *take_mapped(const uint8_t *at, const uint8_t *end,
                                              bool is_numeric, leat_run_fn *others) {
    do {
        at++;
        if (!is_numeric)
            at = others(at, end);
    } while (at < end && is_mapped_numeric(*at) == is_numeric);
    return at < end ? at : end;
}

LEAT_ALWAYS_INLINE const uint8_t *step_mapped_runs(const uint8_t *at, const uint8_t *end,
                                                   leat_run_fn *others) {
    return take_mapped(at, end, is_mapped_numeric(*at), others);
}

LEAT_ALWAYS_INLINE const uint8_t *step_mapped_single(const uint8_t *at, const uint8_t *end,
                                                     leat_run_fn *others) {
    return is_mapped_numeric(*at) ? at + 1 : take_mapped(at, end, false, others);
}

/* Words begin at each U+2581. `run`: runs of bytes that are not its first. */
LEAT_ALWAYS_INLINE const uint8_t *step_metaspace(const uint8_t *at, const uint8_t *end,
                                                 leat_run_fn *run) {
    do
        at = run(at + 1, end);
    while (at < end && !(at[1] == 0x96 && at[2] == 0x81));
    return at < end ? at : end;
}

LEAT_DEFINE_SCAN_SOME(clip, skip_space, step_clip, leat_letters)
LEAT_DEFINE_SCAN_SOME(words, skip_rust_space, step_words, leat_letters)
LEAT_DEFINE_SCAN_SOME(bert, skip_rust_space, step_bert, leat_letters)
LEAT_DEFINE_SCAN_SOME(nonspace, skip_rust_space, step_nonspace, visible)
LEAT_DEFINE_SCAN(numeric_runs, step_numeric_runs, others)
LEAT_DEFINE_SCAN(numeric_single, step_numeric_single, others)
LEAT_DEFINE_SCAN(punctuation, step_punctuation, leat_letters)
LEAT_DEFINE_RUN(not_e2, 0, 0xe3, 254, false)
LEAT_DEFINE_SCAN(metaspace, step_metaspace, not_e2)
LEAT_DEFINE_SCAN(digits3, step_digits3, others)
LEAT_DEFINE_SCAN(mapped_numeric_runs, step_mapped_runs, others)
LEAT_DEFINE_SCAN(mapped_numeric_single, step_mapped_single, others)

const struct leat_scanner leat_scanner_clip = LEAT_SCANNER("CLIP grammar", clip);
const struct leat_scanner leat_scanner_words = LEAT_SCANNER("words and signs", words);
const struct leat_scanner leat_scanner_bert = LEAT_SCANNER("BERT grammar", bert);
const struct leat_scanner leat_scanner_nonspace = LEAT_SCANNER("white space", nonspace);
const struct leat_scanner leat_scanner_numeric_runs = LEAT_SCANNER("numbers", numeric_runs);
const struct leat_scanner leat_scanner_numeric_single = LEAT_SCANNER("digits", numeric_single);
const struct leat_scanner leat_scanner_punctuation = LEAT_SCANNER("runs of signs", punctuation);
const struct leat_scanner leat_scanner_digits3 = LEAT_SCANNER("three digits", digits3);
const struct leat_scanner leat_scanner_mapped_numeric_runs =
    LEAT_SCANNER("numbers", mapped_numeric_runs);
const struct leat_scanner leat_scanner_mapped_numeric_single =
    LEAT_SCANNER("digits", mapped_numeric_single);
const struct leat_scanner leat_scanner_metaspace = LEAT_SCANNER("words from U+2581 on", metaspace);
