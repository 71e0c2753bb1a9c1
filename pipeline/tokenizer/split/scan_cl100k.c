/* scan_cl100k.c: the grammars of Llama-3 (cl100k), Qwen2 and Qwen3.5. See scan.h. */
#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/split/scan_classes.h"

/* What the grammars differ in. */
struct grammar {
    uint32_t letters; /* the classes that make a word */
    uint32_t n_digits;
};

static inline uint32_t end_of_number(const struct leat_scan_text *text, uint32_t at,
                                     uint32_t n_digits) {
    uint32_t n;

    for (uint32_t i = 0; i < n_digits && at < text->end; i++, at += n)
        if (!(leat_scan_class(text, at, &n) & LEAT_SCAN_NUMBER))
            break;
    return at;
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n]*` from its first sign on */
static inline uint32_t end_of_signs(const struct leat_scan_text *text, uint32_t at,
                                    uint32_t letters) {
    at = leat_scan_run_without(text, at, letters | LEAT_SCAN_NUMBER | LEAT_SCAN_SPACE);
    return leat_scan_newlines(text, at);
}

static inline __attribute__((always_inline)) uint32_t
end_of_word(const struct leat_scan_text *text, uint32_t at, struct grammar grammar) {
    const uint32_t word = grammar.letters | LEAT_SCAN_NUMBER | LEAT_SCAN_SPACE;
    uint32_t n, class = leat_scan_class(text, at, &n), n_next, next = 0, n_contraction;
    uint8_t byte = text->bytes[at];

    if (class & grammar.letters)
        return leat_scan_letters(text, at, grammar.letters);
    if (byte == '\'' && (n_contraction = leat_scan_contraction(text, at)) > 0)
        return at + n_contraction;
    if (class & LEAT_SCAN_NUMBER)
        return end_of_number(text, at, grammar.n_digits);
    if (at + n < text->end)
        next = leat_scan_class(text, at + n, &n_next);
    if (byte != '\r' && byte != '\n' && at + n < text->end && next & grammar.letters)
        return leat_scan_letters(text, at + n, grammar.letters);
    if (byte == ' ' && at + 1 < text->end && !(next & word))
        return end_of_signs(text, at + 1, grammar.letters);
    if (!(class & LEAT_SCAN_SPACE))
        return end_of_signs(text, at, grammar.letters);
    return leat_scan_lines(text, at);
}

static inline uint32_t end_cl100k(const struct leat_scan_text *text, uint32_t at) {
    return end_of_word(text, at, (struct grammar){.letters = LEAT_SCAN_LETTER, .n_digits = 3});
}

static inline uint32_t end_qwen2(const struct leat_scan_text *text, uint32_t at) {
    return end_of_word(text, at, (struct grammar){.letters = LEAT_SCAN_LETTER, .n_digits = 1});
}

static inline uint32_t end_qwen35(const struct leat_scan_text *text, uint32_t at) {
    return end_of_word(
        text, at, (struct grammar){.letters = LEAT_SCAN_LETTER | LEAT_SCAN_MARK, .n_digits = 1});
}

LEAT_SCAN_DEFINE(leat_scan_cl100k, end_cl100k)
LEAT_SCAN_DEFINE(leat_scan_qwen2, end_qwen2)
LEAT_SCAN_DEFINE(leat_scan_qwen35, end_qwen35)
