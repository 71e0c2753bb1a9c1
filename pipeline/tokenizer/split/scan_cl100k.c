/* scan_cl100k.c: the regex of cl100k and Llama-3, and those of Qwen, which differ in how many
 * digits make a number and whether a mark is part of a word:
 *   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 *   \s*[\r\n]+|\s+(?!\S)|\s+
 */
#include "pipeline/tokenizer/split/scan_blocks.h"

#define NUMBER LEAT_UNICODE_NUMBER
#define SPACE  LEAT_UNICODE_SPACE

LEAT_ALWAYS_INLINE const uint8_t *take_number(const uint8_t *at, const uint8_t *end,
                                              uint32_t n_digits) {
    uint32_t n;

    while (n_digits-- > 0 && at < end && leat_scan_classes(at, &n) & NUMBER)
        at += n;
    return at;
}

/* letter: the classes that words are made of. */
LEAT_ALWAYS_INLINE const uint8_t *step(const uint8_t *at, const uint8_t *end, uint32_t n_digits,
                                       uint32_t letter, leat_run_fn *letters) {
    uint32_t n, n_next, classes = leat_scan_classes(at, &n), next;
    const uint8_t *short_end;

    if (classes & letter)
        return leat_scan_letters(at, end, letter, letters);
    if (*at == '\'') {
        short_end = leat_scan_contraction(at, end, true);
        if (short_end)
            return short_end;
    }
    if (classes & NUMBER)
        return take_number(at, end, n_digits);
    next = leat_scan_peek(at + n, end, &n_next);
    if (next & letter && *at != '\r' && *at != '\n')
        return leat_scan_letters(at + n, end, letter, letters);
    if (*at == ' ' && n_next && !(next & (letter | NUMBER | SPACE)))
        at++;
    else if (classes & SPACE)
        return leat_scan_blank(at, end, true);
    return leat_scan_newlines(leat_scan_until(at, end, letter | NUMBER | SPACE), end);
}

LEAT_ALWAYS_INLINE const uint8_t *step_cl100k(const uint8_t *at, const uint8_t *end,
                                              leat_run_fn *letters) {
    return step(at, end, 3, LEAT_UNICODE_LETTER, letters);
}

LEAT_ALWAYS_INLINE const uint8_t *step_qwen2(const uint8_t *at, const uint8_t *end,
                                             leat_run_fn *letters) {
    return step(at, end, 1, LEAT_UNICODE_LETTER, letters);
}

LEAT_ALWAYS_INLINE const uint8_t *step_qwen35(const uint8_t *at, const uint8_t *end,
                                              leat_run_fn *letters) {
    return step(at, end, 1, LEAT_UNICODE_LETTER | LEAT_UNICODE_MARK, letters);
}

#define RULES(digits)                                                                              \
    ((struct leat_scan_block_rules){.leads_contraction = true, .n_digits = digits})

LEAT_DEFINE_SCAN_BLOCKS(cl100k, RULES(3), step_cl100k, leat_letters)
LEAT_DEFINE_SCAN_BLOCKS(qwen2, RULES(1), step_qwen2, leat_letters)
LEAT_DEFINE_SCAN_BLOCKS(qwen35, RULES(1), step_qwen35, leat_letters)

const struct leat_scanner leat_scanner_cl100k = LEAT_SCANNER("cl100k grammar", cl100k);
const struct leat_scanner leat_scanner_qwen2 = LEAT_SCANNER("Qwen2 grammar", qwen2);
const struct leat_scanner leat_scanner_qwen35 = LEAT_SCANNER("Qwen3.5 grammar", qwen35);
