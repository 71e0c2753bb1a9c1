/* scan_deepseek.c: the three regexes of DeepSeek-V3, one scanner each:
 *   \p{N}{1,3}
 *   [一-龥぀-ゟ゠-ヿ]+
 *   [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
 *   \ ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 * All three give their matches and the texts between them as words. Characters in no class of the
 * third match nothing, and a run of them is a word.
 */
#include "pipeline/tokenizer/split/scan_blocks.h"

#define WORD   (LEAT_UNICODE_LETTER | LEAT_UNICODE_MARK)
#define SIGN   (LEAT_UNICODE_PUNCTUATION | LEAT_UNICODE_SYMBOL)
#define NUMBER LEAT_UNICODE_NUMBER
#define SPACE  LEAT_UNICODE_SPACE

LEAT_ALWAYS_INLINE bool is_ascii_letter(uint8_t c) {
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

/* The end of the match that begins at a place, NULL if none does. */
LEAT_ALWAYS_INLINE const uint8_t *match(const uint8_t *at, const uint8_t *end,
                                        leat_run_fn *letters) {
    uint32_t n, n_next, classes = leat_scan_classes(at, &n), next;
    const uint8_t *stop;

    if (classes & LEAT_UNICODE_LETTER)
        return leat_scan_letters(at, end, WORD, letters);
    if (classes & SIGN && *at < 0x80 && at + 1 < end && is_ascii_letter(at[1])) {
        stop = letters(at + 1, end);
        return stop < end ? stop : end;
    }
    next = leat_scan_peek(at + n, end, &n_next);
    if (!(classes & SIGN) && *at != '\r' && *at != '\n' && next & WORD)
        return leat_scan_letters(at + n, end, WORD, letters);
    if (classes & LEAT_UNICODE_MARK)
        return at + n;
    if (*at == ' ' && next & SIGN)
        at++;
    else if (classes & SPACE)
        return leat_scan_blank(at, end, true);
    stop = leat_scan_while(at, end, SIGN);
    return stop > at ? leat_scan_newlines(stop, end) : NULL;
}

/* The match, or what stands before the next one. */
LEAT_ALWAYS_INLINE const uint8_t *step_words(const uint8_t *at, const uint8_t *end,
                                             leat_run_fn *letters) {
    const uint8_t *stop = match(at, end, letters);
    uint32_t n;

    if (stop)
        return stop;
    do {
        (void)leat_scan_classes(at, &n);
        at += n;
    } while (at < end && !match(at, end, letters));
    return at;
}

/* others: runs of ASCII without digits */
LEAT_ALWAYS_INLINE const uint8_t *step_numbers(const uint8_t *at, const uint8_t *end,
                                               uint32_t n_max, leat_run_fn *others) {
    const uint8_t *start = at;
    uint32_t n;

    while (n_max-- > 0 && at < end && leat_scan_classes(at, &n) & NUMBER)
        at += n;
    return at > start ? at : leat_scan_gap(at, end, NUMBER, others);
}

LEAT_ALWAYS_INLINE const uint8_t *step_numbers3(const uint8_t *at, const uint8_t *end,
                                                leat_run_fn *others) {
    return step_numbers(at, end, 3, others);
}

LEAT_ALWAYS_INLINE const uint8_t *step_numbers1(const uint8_t *at, const uint8_t *end,
                                                leat_run_fn *others) {
    return step_numbers(at, end, 1, others);
}

LEAT_ALWAYS_INLINE bool is_kana(const uint8_t *at, uint32_t *ret_n_bytes) {
    uint32_t code = leat_unicode_decode(at, ret_n_bytes);

    return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x4e00 && code <= 0x9fa5);
}

/* low: runs of bytes that begin none of these characters, and are in none */
LEAT_ALWAYS_INLINE const uint8_t *step_kana(const uint8_t *at, const uint8_t *end,
                                            leat_run_fn *low) {
    uint32_t n;
    bool is_first = is_kana(at, &n);

    do {
        at += n;
        if (!is_first)
            at = low(at, end);
    } while (at < end && is_kana(at, &n) == is_first);
    return at < end ? at : end;
}

#define RULES ((struct leat_scan_block_rules){.has_no_numbers = true})

LEAT_DEFINE_SCAN_BLOCKS(deepseek, RULES, step_words, leat_letters)
LEAT_DEFINE_RUN(others, 0, '9' + 1, 245, true)
LEAT_DEFINE_SCAN(numbers3, step_numbers3, others)
LEAT_DEFINE_SCAN(numbers1, step_numbers1, others)
/* A run ends at a first byte only: 80 to BF, which go on a character, are in it. */
LEAT_DEFINE_RUN(low, 0, 0, 0xe2, false)
LEAT_DEFINE_SCAN(kana, step_kana, low)

const struct leat_scanner leat_scanner_deepseek = LEAT_SCANNER("DeepSeek-V3 grammar", deepseek);
const struct leat_scanner leat_scanner_numbers3 = LEAT_SCANNER("up to three digits", numbers3);
const struct leat_scanner leat_scanner_numbers1 = LEAT_SCANNER("single digits", numbers1);
const struct leat_scanner leat_scanner_kana = LEAT_SCANNER("runs of Kana and Han", kana);
