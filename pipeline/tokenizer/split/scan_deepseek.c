/* scan_deepseek.c: the grammar of DeepSeek-V3 and R1. See scan.h.
 *
 * Numbers and runs of Chinese and Japanese characters are cut out first; what is left between them
 * is a piece of its own to the third regex, so that its end is an end of text to (?!\S). What that
 * regex does not match (controls, unassigned characters) stays together up to the next match.
 */
#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/split/scan_classes.h"

#define WORD (LEAT_SCAN_LETTER | LEAT_SCAN_MARK)

/* [一-龥぀-ゟ゠-ヿ] */
static inline bool is_chinese(const struct leat_scan_text *text, uint32_t at) {
    uint32_t n, code;

    if (text->bytes[at] < 0xe3 || text->bytes[at] > 0xe9)
        return false;
    code = leat_unicode_decode(text->bytes + at, &n);
    return (code >= 0x4e00 && code <= 0x9fa5) || (code >= 0x3040 && code <= 0x30ff);
}

static inline bool is_number(const struct leat_scan_text *text, uint32_t at) {
    return leat_scan_is(text, at, LEAT_SCAN_NUMBER);
}

static uint32_t end_of_number(const struct leat_scan_text *text, uint32_t at) {
    uint32_t n;

    for (uint32_t i = 0; i < 3 && is_number(text, at); i++, at += n)
        (void)leat_scan_class(text, at, &n);
    return at;
}

static uint32_t end_of_chinese(const struct leat_scan_text *text, uint32_t at) {
    while (at < text->end && is_chinese(text, at))
        at += 3;
    return at;
}

/* Where the piece between numbers and Chinese ends that `at` is in. */
static uint32_t end_of_piece(const struct leat_scan_text *text, uint32_t at) {
    uint32_t n;

    while (at < text->end && !is_chinese(text, at)) {
        if (leat_scan_class(text, at, &n) & LEAT_SCAN_NUMBER)
            break;
        at += n;
    }
    return at;
}

static inline bool is_ascii_letter(uint8_t byte) {
    return (uint8_t)((byte | 32) - 'a') < 26;
}

/* The end of what the third regex matches at `at`; `at` itself: it does not match there. */
static inline uint32_t end_of_match(const struct leat_scan_text *text, uint32_t at) {
    uint32_t n, class = leat_scan_class(text, at, &n), n_next, next = 0;
    uint8_t byte = text->bytes[at];
    bool is_newline = byte == '\r' || byte == '\n';

    if (at + n < text->end)
        next = leat_scan_class(text, at + n, &n_next);
    if (byte < 0x80 && class & LEAT_SCAN_SIGN && at + 1 < text->end &&
        is_ascii_letter(text->bytes[at + 1])) {
        for (at++; at < text->end && is_ascii_letter(text->bytes[at]);)
            at++;
        return at;
    }
    if (!is_newline && !(class & (LEAT_SCAN_LETTER | LEAT_SCAN_SIGN)) && next & WORD)
        return leat_scan_letters(text, at + n, WORD);
    if (class & WORD)
        return leat_scan_letters(text, at, WORD);
    if (class & LEAT_SCAN_SIGN)
        return leat_scan_newlines(text, leat_scan_run(text, at, LEAT_SCAN_SIGN));
    if (byte == ' ' && next & LEAT_SCAN_SIGN)
        return leat_scan_newlines(text, leat_scan_run(text, at + 1, LEAT_SCAN_SIGN));
    return class & LEAT_SCAN_SPACE ? leat_scan_lines(text, at) : at;
}

static uint32_t end_of_word(const struct leat_scan_text *piece, uint32_t at) {
    uint32_t end = end_of_match(piece, at), n;

    if (end > at)
        return end;
    do {
        (void)leat_scan_class(piece, at, &n);
        at += n;
    } while (at < piece->end && end_of_match(piece, at) == at);
    return at;
}

size_t leat_scan_deepseek3(const struct leat_text *text, uint32_t *at, struct leat_range *words,
                           size_t n_max) {
    const struct leat_scan_text whole = {.bytes = text->bytes, .end = text->n_bytes};
    struct leat_scan_text piece = {.bytes = text->bytes, .end = *at};
    uint32_t start = *at;
    size_t n = 0;

    while (n < n_max && start < whole.end) {
        uint32_t end;

        if (start < piece.end)
            end = end_of_word(&piece, start);
        else if (is_number(&whole, start))
            end = end_of_number(&whole, start);
        else if (is_chinese(&whole, start))
            end = end_of_chinese(&whole, start);
        else {
            piece.end = end_of_piece(&whole, start);
            continue;
        }
        words[n++] = (struct leat_range){.start = start, .end = end};
        start = end;
    }
    *at = start;
    return n;
}
