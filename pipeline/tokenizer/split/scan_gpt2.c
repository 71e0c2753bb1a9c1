/* scan_gpt2.c: GPT-2's grammar (RoBERTa, ModernBERT, GPT-NeoX, Phi-2, ...). See scan.h. */
#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/split/scan_classes.h"

#define WORD (LEAT_SCAN_LETTER | LEAT_SCAN_NUMBER | LEAT_SCAN_SPACE)

/* From the first character of a run on; a blank may have come before it. */
static inline uint32_t end_of_run(const struct leat_scan_text *text, uint32_t at, uint32_t class,
                                  uint32_t n) {
    if (class & LEAT_SCAN_LETTER)
        return leat_scan_letters(text, at, LEAT_SCAN_LETTER);
    if (class & LEAT_SCAN_NUMBER)
        return leat_scan_run(text, at + n, LEAT_SCAN_NUMBER);
    return leat_scan_run_without(text, at + n, WORD);
}

/* Here case counts, and U+017F is no s. */
static inline uint32_t contraction(const struct leat_scan_text *text, uint32_t at) {
    const uint8_t *bytes = text->bytes + at;
    uint32_t n_left = text->end - at;

    if (n_left < 2)
        return 0;
    if (bytes[1] == 's' || bytes[1] == 't' || bytes[1] == 'm' || bytes[1] == 'd')
        return 2;
    if (n_left < 3)
        return 0;
    return (bytes[1] == 'r' && bytes[2] == 'e') || (bytes[1] == 'v' && bytes[2] == 'e') ||
                   (bytes[1] == 'l' && bytes[2] == 'l')
               ? 3
               : 0;
}

static inline uint32_t end_of_word(const struct leat_scan_text *text, uint32_t at) {
    uint32_t n, class = leat_scan_class(text, at, &n), n_contraction;

    if (text->bytes[at] == ' ' && at + 1 < text->end) {
        class = leat_scan_class(text, at + 1, &n);
        if (!(class & LEAT_SCAN_SPACE))
            return end_of_run(text, at + 1, class, n);
        return leat_scan_blanks(text, at);
    }
    if (class & LEAT_SCAN_SPACE)
        return leat_scan_blanks(text, at);
    if (text->bytes[at] == '\'' && (n_contraction = contraction(text, at)) > 0)
        return at + n_contraction;
    return end_of_run(text, at, class, n);
}

LEAT_SCAN_DEFINE(leat_scan_gpt2, end_of_word)
