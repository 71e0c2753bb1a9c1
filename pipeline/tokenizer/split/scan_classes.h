/* scan_classes.h: what the scanners ask of a character, and runs of characters of a kind.
 *
 * ASCII has a table of its own; the letters of ASCII, most of most texts, are run over 16 at a
 * time. Positions are offsets into the text; a position never passes `end`. Pure.
 */
#pragma once

#include "pipeline/tokenizer/text.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* bits */
#define LEAT_SCAN_LETTER 1
#define LEAT_SCAN_NUMBER 2
#define LEAT_SCAN_SPACE  4
#define LEAT_SCAN_MARK   8
#define LEAT_SCAN_SIGN   16 /* \p{P}\p{S} */
#define LEAT_SCAN_UPPER  32 /* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] */
#define LEAT_SCAN_LOWER  64 /* [\p{Ll}\p{Lm}\p{Lo}\p{M}] */

/* The classes of ASCII, and for a byte from 0x80 on nothing. */
extern const uint8_t leat_scan_ascii[256];

/* Bytes that are being scanned. */
struct leat_scan_text {
    const uint8_t *bytes;
    uint32_t end;
};

static inline uint32_t leat_scan_wide_class(const uint8_t *at, uint32_t *ret_n_bytes) {
    uint32_t classes = leat_unicode_classes(leat_unicode_decode(at, ret_n_bytes));
    uint32_t bits = 0;

    bits |= classes & LEAT_UNICODE_LETTER ? LEAT_SCAN_LETTER : 0;
    bits |= classes & LEAT_UNICODE_NUMBER ? LEAT_SCAN_NUMBER : 0;
    bits |= classes & LEAT_UNICODE_SPACE ? LEAT_SCAN_SPACE : 0;
    bits |= classes & LEAT_UNICODE_MARK ? LEAT_SCAN_MARK : 0;
    bits |= classes & (LEAT_UNICODE_PUNCTUATION | LEAT_UNICODE_SYMBOL) ? LEAT_SCAN_SIGN : 0;
    bits |= classes & (LEAT_UNICODE_LU | LEAT_UNICODE_LT | LEAT_UNICODE_LM | LEAT_UNICODE_LO |
                       LEAT_UNICODE_MARK)
                ? LEAT_SCAN_UPPER
                : 0;
    bits |= classes & (LEAT_UNICODE_LL | LEAT_UNICODE_LM | LEAT_UNICODE_LO | LEAT_UNICODE_MARK)
                ? LEAT_SCAN_LOWER
                : 0;
    return bits;
}

/* The classes of the character at `at`, and its length. */
static inline uint32_t leat_scan_class(const struct leat_scan_text *text, uint32_t at,
                                       uint32_t *ret_n_bytes) {
    uint8_t byte = text->bytes[at];

    if (__builtin_expect(byte < 0x80, 1)) {
        *ret_n_bytes = 1;
        return leat_scan_ascii[byte];
    }
    return leat_scan_wide_class(text->bytes + at, ret_n_bytes);
}

static inline bool leat_scan_is(const struct leat_scan_text *text, uint32_t at, uint32_t bits) {
    uint32_t n;

    return at < text->end && leat_scan_class(text, at, &n) & bits;
}

/* Behind all characters from `at` on that have one of the bits. */
static inline uint32_t leat_scan_run(const struct leat_scan_text *text, uint32_t at,
                                     uint32_t bits) {
    uint32_t n;

    while (at < text->end && leat_scan_class(text, at, &n) & bits)
        at += n;
    return at;
}

/* Behind all characters from `at` on that have none of the bits. */
static inline uint32_t leat_scan_run_without(const struct leat_scan_text *text, uint32_t at,
                                             uint32_t bits) {
    uint32_t n;

    while (at < text->end && !(leat_scan_class(text, at, &n) & bits))
        at += n;
    return at;
}

/* The same as leat_scan_run for bits that all letters have, ASCII 16 at a time. */
static inline uint32_t leat_scan_letters(const struct leat_scan_text *text, uint32_t at,
                                         uint32_t bits) {
    uint32_t n;

    for (;;) {
#ifdef __SSE2__
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text->bytes + at));
        __m128i folded = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
        __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(folded, _mm_set1_epi8(25)), folded);
        uint32_t others = ~(uint32_t)_mm_movemask_epi8(is_letter) & 0xffff;

        if (others == 0) {
            at += 16;
            if (at >= text->end)
                return text->end;
            continue;
        }
        at += (uint32_t)__builtin_ctz(others);
#else
        while (at < text->end && leat_scan_ascii[text->bytes[at]] & LEAT_SCAN_LETTER)
            at++;
#endif
        if (at >= text->end)
            return text->end;
        if (text->bytes[at] < 0x80 || !(leat_scan_wide_class(text->bytes + at, &n) & bits))
            return at;
        at += n;
        if (at >= text->end)
            return text->end;
    }
}

/* \s+(?!\S)|\s+ at a blank: all of them at the end of the text, else all but the last, if there is
 * more than one. */
static inline uint32_t leat_scan_blanks(const struct leat_scan_text *text, uint32_t at) {
    uint32_t start = at, last = at, n;

    while (at < text->end && leat_scan_class(text, at, &n) & LEAT_SCAN_SPACE) {
        last = at;
        at += n;
    }
    return at < text->end && last > start ? last : at;
}

/* Behind the newlines (CR and LF) from `at` on. */
static inline uint32_t leat_scan_newlines(const struct leat_scan_text *text, uint32_t at) {
    while (at < text->end && (text->bytes[at] == '\n' || text->bytes[at] == '\r'))
        at++;
    return at;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ at a blank: up to the last newline of the run, if there is one. */
static inline uint32_t leat_scan_lines(const struct leat_scan_text *text, uint32_t at) {
    uint32_t start = at, last = at, behind_newline = 0, n;

    while (at < text->end && leat_scan_class(text, at, &n) & LEAT_SCAN_SPACE) {
        if (text->bytes[at] == '\n' || text->bytes[at] == '\r')
            behind_newline = at + 1;
        last = at;
        at += n;
    }
    if (behind_newline)
        return behind_newline;
    return at < text->end && last > start ? last : at;
}

/* The length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at an apostrophe, 0 if there is none. U+017F is an s
 * to a regex that ignores case. */
static inline uint32_t leat_scan_contraction(const struct leat_scan_text *text, uint32_t at) {
    const uint8_t *bytes = text->bytes + at;
    uint32_t n_left = text->end - at;
    uint8_t first, second;

    if (n_left < 2 || bytes[0] != '\'')
        return 0;
    first = bytes[1] | 32;
    if (bytes[1] < 0x80 && (first == 's' || first == 't' || first == 'm' || first == 'd'))
        return 2;
    if (n_left < 3)
        return 0;
    second = bytes[2] | 32;
    if ((bytes[1] | bytes[2]) < 0x80 &&
        ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
         (first == 'l' && second == 'l')))
        return 3;
    return bytes[1] == 0xc5 && bytes[2] == 0xbf ? 3 : 0;
}

/* A scanner of contiguous words out of a function that finds the end of one. */
#define LEAT_SCAN_DEFINE(name, end_of_word)                                                        \
    size_t name(const struct leat_text *text, uint32_t *at, struct leat_range *words,              \
                size_t n_max) {                                                                    \
        const struct leat_scan_text scanned = {.bytes = text->bytes, .end = text->n_bytes};        \
        uint32_t start = *at;                                                                      \
        size_t n = 0;                                                                              \
                                                                                                   \
        while (n < n_max && start < scanned.end) {                                                 \
            uint32_t end = end_of_word(&scanned, start);                                           \
                                                                                                   \
            words[n++] = (struct leat_range){.start = start, .end = end};                          \
            start = end;                                                                           \
        }                                                                                          \
        *at = start;                                                                               \
        return n;                                                                                  \
    }
