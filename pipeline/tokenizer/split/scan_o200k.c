/* scan_o200k.c: the regex of o200k, and that of tekken, which has no contractions, single digits:
 *   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|...)?|
 *   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|...)?|
 *   \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * A word is upper case, then lower case; letters without case are both. The first alternative takes
 * as much upper case as there is; if nothing lower follows, it gives back up to the last character
 * that is both, and ends after that one.
 */
#include "pipeline/tokenizer/split/scan_blocks.h"

#define LETTER LEAT_UNICODE_LETTER
#define NUMBER LEAT_UNICODE_NUMBER
#define SPACE  LEAT_UNICODE_SPACE
#define BOTH   (LEAT_UNICODE_LM | LEAT_UNICODE_LO | LEAT_UNICODE_MARK)
#define UPPER  (LEAT_UNICODE_LU | LEAT_UNICODE_LT | BOTH)
#define LOWER  (LEAT_UNICODE_LL | BOTH)

/* A run of upper case; *ret_both is the end of its last character that is lower case too, or NULL.
 */
LEAT_ALWAYS_INLINE const uint8_t *take_upper(const uint8_t *at, const uint8_t *end,
                                             const uint8_t **ret_both) {
    uint32_t n, classes;

    *ret_both = NULL;
    while (at < end && (classes = leat_scan_classes(at, &n)) & UPPER) {
        at += n;
        if (classes & BOTH)
            *ret_both = at;
    }
    return at;
}

LEAT_ALWAYS_INLINE const uint8_t *take_lower(const uint8_t *at, const uint8_t *end,
                                             leat_run_fn *lower) {
    return leat_scan_letters(at, end, LOWER, lower);
}

/* The end of a word that begins at a letter or a mark, by the first alternative or, if it finds
 * none, *ret_second by the second. */
LEAT_ALWAYS_INLINE const uint8_t *take_word(const uint8_t *at, const uint8_t *end,
                                            const uint8_t **ret_second, leat_run_fn *run) {
    const uint8_t *both, *upper = take_upper(at, end, &both);
    const uint8_t *lower = take_lower(upper, end, run);

    *ret_second = upper > at ? upper : NULL;
    return lower > upper ? lower : both;
}

/* A word at `at`, or one after it if the character there, of n bytes, may stand before a word. */
LEAT_ALWAYS_INLINE const uint8_t *find_word(const uint8_t *at, const uint8_t *end, uint32_t n,
                                            uint32_t classes, leat_run_fn *run) {
    const uint8_t *first, *second = NULL, *unused;

    if (classes & LETTER) {
        first = take_word(at, end, &second, run);
        return first ? first : second;
    }
    if (*at != '\r' && *at != '\n' && !(classes & NUMBER)) {
        first = take_word(at + n, end, &second, run);
        if (first)
            return first;
    }
    /* A mark is upper and lower case, so it begins a word of the first alternative. */
    return classes & LEAT_UNICODE_MARK ? take_word(at, end, &unused, run) : second;
}

LEAT_ALWAYS_INLINE const uint8_t *take_rest(const uint8_t *at, const uint8_t *end, uint32_t n,
                                            uint32_t classes, uint32_t n_digits) {
    uint32_t next;

    if (classes & NUMBER) {
        for (at += n; --n_digits > 0 && at < end && leat_scan_classes(at, &n) & NUMBER;)
            at += n;
        return at;
    }
    next = leat_scan_peek(at + n, end, &n);
    if (*at == ' ' && n && !(next & (LETTER | NUMBER | SPACE)))
        at++;
    else if (classes & SPACE)
        return leat_scan_blank(at, end, true);
    at = leat_scan_until(at, end, LETTER | NUMBER | SPACE);
    while (at < end && (*at == '\r' || *at == '\n' || *at == '/'))
        at++;
    return at;
}

LEAT_ALWAYS_INLINE const uint8_t *step(const uint8_t *at, const uint8_t *end, uint32_t n_digits,
                                       bool has_contractions, leat_run_fn *run) {
    uint32_t n, classes = leat_scan_classes(at, &n);
    const uint8_t *word = find_word(at, end, n, classes, run), *short_end;

    if (!word)
        return take_rest(at, end, n, classes, n_digits);
    if (has_contractions && word < end && *word == '\'') {
        short_end = leat_scan_contraction(word, end, true);
        if (short_end)
            return short_end;
    }
    return word;
}

LEAT_ALWAYS_INLINE const uint8_t *step_o200k(const uint8_t *at, const uint8_t *end,
                                             leat_run_fn *run) {
    return step(at, end, 3, true, run);
}

LEAT_ALWAYS_INLINE const uint8_t *step_tekken(const uint8_t *at, const uint8_t *end,
                                              leat_run_fn *run) {
    return step(at, end, 1, false, run);
}

LEAT_DEFINE_RUN(lower, 0, 'a', 25, false)
#define RULES(digits, trails)                                                                      \
    ((struct leat_scan_block_rules){.splits_case = true,                                           \
                                    .has_slashes = true,                                           \
                                    .trails_contraction = trails,                                  \
                                    .n_digits = digits})

LEAT_DEFINE_SCAN_BLOCKS(o200k, RULES(3, true), step_o200k, lower)
LEAT_DEFINE_SCAN_BLOCKS(tekken, RULES(1, false), step_tekken, lower)

const struct leat_scanner leat_scanner_o200k = LEAT_SCANNER("o200k grammar", o200k);
const struct leat_scanner leat_scanner_tekken = LEAT_SCANNER("tekken grammar", tekken);
