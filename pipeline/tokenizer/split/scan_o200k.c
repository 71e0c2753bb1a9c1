/* scan_o200k.c: the grammars of GPT-4o (o200k) and of Mistral's tekken. See scan.h.
 *
 * A word is X*Y+ or X+Y*, X = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], Y = [\p{Ll}\p{Lm}\p{Lo}\p{M}]. What
 * is in both (Lm, Lo, M) lets the first form back off: X* takes all it can; if no Y follows, it
 * gives back characters until one that it gives back is a Y. So the word ends behind the last Y of
 * the run of X if nothing of Y comes behind it, and only if the run has no Y at all the second form
 * takes the run as a whole.
 */
#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/split/scan_classes.h"

#define LETTERS (LEAT_SCAN_UPPER | LEAT_SCAN_LOWER)

/* The end of X*Y+ from `at` on; `at` itself: no match. *ret_upper: the end of X*. */
static inline uint32_t end_of_lower_form(const struct leat_scan_text *text, uint32_t at,
                                         uint32_t *ret_upper) {
    uint32_t behind_lower = at, n, class;

    while (at < text->end && (class = leat_scan_class(text, at, &n)) & LEAT_SCAN_UPPER) {
        at += n;
        if (class & LEAT_SCAN_LOWER)
            behind_lower = at;
    }
    *ret_upper = at;
    if (leat_scan_is(text, at, LEAT_SCAN_LOWER))
        return leat_scan_run(text, at, LEAT_SCAN_LOWER);
    return behind_lower;
}

/* The end of the word at `at`, whose letters begin there or, behind a prefix, at `start`. */
static inline uint32_t end_of_letters(const struct leat_scan_text *text, uint32_t at,
                                      uint32_t start, bool is_mark) {
    uint32_t end, upper, ignored;

    end = end_of_lower_form(text, start, &upper);
    if (end > start)
        return end;
    if (start > at &&
        is_mark) /* the first form without the prefix comes before the second with it */
        return end_of_lower_form(text, at, &ignored);
    return upper;
}

static inline uint32_t end_of_number(const struct leat_scan_text *text, uint32_t at,
                                     uint32_t n_digits) {
    uint32_t n;

    for (uint32_t i = 0; i < n_digits && at < text->end; i++, at += n)
        if (!(leat_scan_class(text, at, &n) & LEAT_SCAN_NUMBER))
            break;
    return at;
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n/]*` from its first sign on */
static inline uint32_t end_of_signs(const struct leat_scan_text *text, uint32_t at) {
    at = leat_scan_run_without(text, at, LEAT_SCAN_LETTER | LEAT_SCAN_NUMBER | LEAT_SCAN_SPACE);
    while (at < text->end &&
           (text->bytes[at] == '\n' || text->bytes[at] == '\r' || text->bytes[at] == '/'))
        at++;
    return at;
}

static inline __attribute__((always_inline)) uint32_t end_of_word(const struct leat_scan_text *text,
                                                                  uint32_t at,
                                                                  bool has_contractions,
                                                                  uint32_t n_digits) {
    uint32_t n, class = leat_scan_class(text, at, &n), n_next, next = 0, start;
    uint8_t byte = text->bytes[at];

    /* the prefix may be any character but CR, LF, letters and numbers: a mark too */
    if (at + n < text->end)
        next = leat_scan_class(text, at + n, &n_next);
    start = !(class & (LEAT_SCAN_LETTER | LEAT_SCAN_NUMBER)) && byte != '\r' && byte != '\n' &&
                    next & LETTERS
                ? at + n
                : at;
    if (start > at || class & LETTERS) {
        uint32_t end = end_of_letters(text, at, start, class & LEAT_SCAN_MARK);

        return has_contractions ? end + leat_scan_contraction(text, end) : end;
    }
    if (class & LEAT_SCAN_NUMBER)
        return end_of_number(text, at, n_digits);
    if (byte == ' ' && at + 1 < text->end &&
        !(next & (LEAT_SCAN_LETTER | LEAT_SCAN_NUMBER | LEAT_SCAN_SPACE)))
        return end_of_signs(text, at + 1);
    if (!(class & LEAT_SCAN_SPACE))
        return end_of_signs(text, at);
    return leat_scan_lines(text, at);
}

static inline uint32_t end_o200k(const struct leat_scan_text *text, uint32_t at) {
    return end_of_word(text, at, true, 3);
}

static inline uint32_t end_tekken(const struct leat_scan_text *text, uint32_t at) {
    return end_of_word(text, at, false, 1);
}

LEAT_SCAN_DEFINE(leat_scan_o200k, end_o200k)
LEAT_SCAN_DEFINE(leat_scan_tekken, end_tekken)
