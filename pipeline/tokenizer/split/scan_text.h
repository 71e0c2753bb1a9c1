/* scan_text.h: what scanners are made of: the classes of the character at a place, and the ends of
 * runs.
 *
 * A scanner's step is a function that takes a place and the end, and gives the end of the word that
 * begins there. It is written once and inlined into a loop for each instruction set; its last
 * argument is the function that finds the end of a run of bytes there, ASCII letters mostly.
 */
#pragma once

#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/simd.h"

/* The first byte from `at` on that is not of the run; may run past the end. */
typedef const uint8_t *leat_run_fn(const uint8_t *at, const uint8_t *end);
typedef const uint8_t *leat_split_step_fn(const uint8_t *at, const uint8_t *end, leat_run_fn *run);

/* Those of enum leat_unicode_class that scanners ask for, for ASCII: the table spares two dependent
 * loads. test_splitter_scan holds it against the tables of Unicode. */
extern const uint32_t leat_scan_ascii[128];

#define LEAT_SCAN_CLASSES                                                                          \
    (LEAT_UNICODE_LETTER | LEAT_UNICODE_MARK | LEAT_UNICODE_NUMBER | LEAT_UNICODE_PUNCTUATION |    \
     LEAT_UNICODE_SYMBOL | LEAT_UNICODE_SPACE | LEAT_UNICODE_RUST_NUMERIC |                        \
     LEAT_UNICODE_RUST_SPACE | LEAT_UNICODE_RUST_WORD | LEAT_UNICODE_BERT_PUNCTUATION |            \
     LEAT_UNICODE_BERT_SEPARATOR)

/* Of a character that is not ASCII. One of three bytes is split right into the places of the
 * tables. */
LEAT_ALWAYS_INLINE uint32_t leat_scan_classes_beyond(const uint8_t *at, uint32_t *ret_n_bytes) {
    uint32_t block;

    if ((at[0] & 0xf0) != 0xe0)
        return leat_unicode_classes(leat_unicode_decode(at, ret_n_bytes));
    *ret_n_bytes = 3;
    block = leat_unicode_u16_class_blocks[(at[0] & 15U) << 5 | (at[1] & 63U) >> 1];
    return leat_unicode_u16_masks[leat_unicode_u16_class[block << 7 | (at[1] & 1U) << 6 |
                                                         (at[2] & 63U)]];
}

/* True if a character that is not ASCII is of any of the classes. */
LEAT_ALWAYS_INLINE bool leat_scan_is_beyond(const uint8_t *at, uint32_t classes,
                                            uint32_t *ret_n_bytes) {
    if (classes == LEAT_UNICODE_LETTER && at[0] < 0xf0)
        return leat_unicode_has_bit(leat_unicode_u16_letters, at, ret_n_bytes);
    return leat_scan_classes_beyond(at, ret_n_bytes) & classes;
}

LEAT_ALWAYS_INLINE uint32_t leat_scan_classes(const uint8_t *at, uint32_t *ret_n_bytes) {
    if (at[0] < 0x80) {
        *ret_n_bytes = 1;
        return leat_scan_ascii[at[0]];
    }
    return leat_scan_classes_beyond(at, ret_n_bytes);
}

/* The classes of the character at a place; none at the end. */
LEAT_ALWAYS_INLINE uint32_t leat_scan_peek(const uint8_t *at, const uint8_t *end,
                                           uint32_t *ret_n_bytes) {
    *ret_n_bytes = 0;
    return at < end ? leat_scan_classes(at, ret_n_bytes) : 0;
}

/* The end of a run of characters of any of the classes. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_while(const uint8_t *at, const uint8_t *end,
                                                  uint32_t classes) {
    uint32_t n;

    while (at < end && leat_scan_classes(at, &n) & classes)
        at += n;
    return at;
}

/* The end of a run of characters of none of the classes. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_until(const uint8_t *at, const uint8_t *end,
                                                  uint32_t classes) {
    uint32_t n;

    while (at < end && !(leat_scan_classes(at, &n) & classes))
        at += n;
    return at;
}

LEAT_ALWAYS_INLINE const uint8_t *leat_scan_newlines(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* The end of a run of letters, and of the other classes, from a place on. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_letters(const uint8_t *at, const uint8_t *end,
                                                    uint32_t classes, leat_run_fn *letters) {
    uint32_t n;

    for (;;) {
        at = letters(at, end);
        if (at >= end)
            return end;
        if (*at < 0x80)
            return at;
        do {
            if (!leat_scan_is_beyond(at, classes, &n))
                return at;
            at += n;
        } while (at < end && *at >= 0x80);
    }
}

/* The end of a run of characters of none of the classes, of which those in a run have none. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_gap(const uint8_t *at, const uint8_t *end,
                                                uint32_t classes, leat_run_fn *run) {
    uint32_t n;

    for (;;) {
        at = run(at, end);
        if (at >= end)
            return end;
        if (leat_scan_classes(at, &n) & classes)
            return at;
        at += n;
    }
}

/* \s+(?!\S)|\s+ at white space: all of the run but its last character, unless it is the only one or
 * the text ends with it. With newlines: \s*[\r\n]+ goes first. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_blank(const uint8_t *at, const uint8_t *end,
                                                  bool has_newlines) {
    const uint8_t *start = at, *last = at, *line = NULL;
    uint32_t n;

    while (at < end && leat_scan_classes(at, &n) & LEAT_UNICODE_SPACE) {
        last = at;
        if (*at == '\r' || *at == '\n')
            line = at + 1;
        at += n;
    }
    if (has_newlines && line)
        return line;
    return at < end && last > start ? last : at;
}

/* 's 't 'm 'd 're 've 'll after an apostrophe: its end, or NULL. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_contraction(const uint8_t *at, const uint8_t *end,
                                                        bool ignores_case) {
    uint8_t fold = ignores_case ? 0x20 : 0, first, second;

    if (end - at < 2)
        return NULL;
    first = at[1] | fold;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return at + 2;
    if (end - at < 3)
        return NULL;
    second = at[2] | fold;
    if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
        (first == 'l' && second == 'l'))
        return at + 3;
    /* U+017F is an s. */
    return ignores_case && at[1] == 0xc5 && at[2] == 0xbf ? at + 3 : NULL;
}

/* A gap of nothing, where words touch. */
LEAT_ALWAYS_INLINE const uint8_t *leat_scan_no_gap(const uint8_t *at, const uint8_t *end) {
    (void)end;
    return at;
}

/* All words of the piece: `skip_gap` finds where the next one begins. */
LEAT_ALWAYS_INLINE size_t leat_scan_all(const uint8_t *text, uint32_t *at, uint32_t end,
                                        struct leat_range *words, size_t n_max,
                                        leat_run_fn *skip_gap, leat_split_step_fn *step,
                                        leat_run_fn *letters) {
    const uint8_t *place = skip_gap(text + *at, text + end), *stop = text + end;
    size_t n = 0;

    for (; n < n_max && place < stop; n++) {
        words[n].start = (uint32_t)(place - text);
        place = step(place, stop, letters);
        words[n].end = (uint32_t)(place - text);
        place = skip_gap(place, stop);
    }
    *at = (uint32_t)(place - text);
    return n;
}

/* ---- runs of bytes
 *
 * A kind of run is the bytes that, folded with an or, are among span + 1 from `low` on (which may
 * wrap round), perhaps ASCII only. LEAT_DEFINE_RUN makes a leat_run_fn of it for each machine.
 */
LEAT_ALWAYS_INLINE const uint8_t *leat_run_portable(const uint8_t *at, const uint8_t *end,
                                                    uint8_t fold, uint8_t low, uint8_t span,
                                                    bool is_ascii) {
    while (at < end && (uint8_t)((*at | fold) - low) <= span && !(is_ascii && *at >= 0x80))
        at++;
    return at;
}

LEAT_SIMD_INLINE const uint8_t *leat_run_simd(const uint8_t *at, const uint8_t *end, uint8_t fold,
                                              uint8_t low, uint8_t span, bool is_ascii) {
    for (; at < end; at += 32) {
        leat_bytes32 bytes = leat_bytes32_load(at);
        uint32_t others =
            ~leat_bytes32_mask(leat_bytes32_in(leat_bytes32_or(bytes, fold), low, span));
        if (is_ascii)
            others |= leat_bytes32_mask(leat_bytes32_beyond_ascii(bytes));
        if (others)
            return at + __builtin_ctz(others);
    }
    return at;
}

#define LEAT_DEFINE_RUN(name, fold, low, span, is_ascii)                                           \
    LEAT_ALWAYS_INLINE const uint8_t *name##_portable(const uint8_t *at, const uint8_t *end) {     \
        return leat_run_portable(at, end, fold, low, span, is_ascii);                              \
    }                                                                                              \
    LEAT_SIMD_INLINE const uint8_t *name##_simd(const uint8_t *at, const uint8_t *end) {           \
        return leat_run_simd(at, end, fold, low, span, is_ascii);                                  \
    }

/* Defines NAME_portable and NAME_simd, which the scanner's entry refers to. */
#define LEAT_DEFINE_SCAN_SOME(name, skip, step, run)                                               \
    static size_t name##_portable(const uint8_t *text, uint32_t *at, uint32_t end,                 \
                                  struct leat_range *words, size_t n_max) {                        \
        return leat_scan_all(text, at, end, words, n_max, skip, step, run##_portable);             \
    }                                                                                              \
    LEAT_SIMD static size_t name##_simd(const uint8_t *text, uint32_t *at, uint32_t end,           \
                                        struct leat_range *words, size_t n_max) {                  \
        return leat_scan_all(text, at, end, words, n_max, skip, step, run##_simd);                 \
    }
#define LEAT_DEFINE_SCAN(name, step, run) LEAT_DEFINE_SCAN_SOME(name, leat_scan_no_gap, step, run)
#define LEAT_SCANNER(title, name)                                                                  \
    { title, name##_portable, name##_simd }

LEAT_DEFINE_RUN(leat_letters, 0x20, 'a', 25, false)
