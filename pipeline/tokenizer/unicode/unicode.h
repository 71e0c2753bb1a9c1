/* unicode.h: what kind of character a code point is.
 *
 * Hugging Face `tokenizers` sees Unicode through several libraries, each with a version of its own;
 * the bits here say what each of them says. generate.py makes the tables from the facts in data/,
 * which tests/tokenizer/probe_unicode.py obtained by asking that library. There is one set of
 * tables, `u16`, for 0.22 and 0.23. Immutable: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_unicode_class {
    /* For regular expressions (Oniguruma): \p{Lu} ..., \s. */
    LEAT_UNICODE_LU = 1 << 0,
    LEAT_UNICODE_LL = 1 << 1,
    LEAT_UNICODE_LT = 1 << 2,
    LEAT_UNICODE_LM = 1 << 3,
    LEAT_UNICODE_LO = 1 << 4,
    LEAT_UNICODE_MARK = 1 << 5,        /* \p{M} */
    LEAT_UNICODE_NUMBER = 1 << 6,      /* \p{N} */
    LEAT_UNICODE_PUNCTUATION = 1 << 7, /* \p{P} */
    LEAT_UNICODE_SYMBOL = 1 << 8,      /* \p{S} */
    LEAT_UNICODE_SPACE = 1 << 9,       /* \s */
    /* For functions of Rust: char::is_numeric, char::is_whitespace, \w of the crate `regex`. */
    LEAT_UNICODE_RUST_NUMERIC = 1 << 10,
    LEAT_UNICODE_RUST_SPACE = 1 << 11,
    LEAT_UNICODE_RUST_WORD = 1 << 12,
    /* For BERT: Punctuation; what BertPreTokenizer cuts at (that and white space); and what
     * BertNormalizer removes, takes for a blank, for Chinese, for an accent. */
    LEAT_UNICODE_BERT_PUNCTUATION = 1 << 13,
    LEAT_UNICODE_BERT_SEPARATOR = 1 << 14,
    LEAT_UNICODE_BERT_REMOVED = 1 << 15,
    LEAT_UNICODE_BERT_BLANK = 1 << 16,
    LEAT_UNICODE_BERT_CHINESE = 1 << 17,
    LEAT_UNICODE_BERT_MARK = 1 << 18,
    LEAT_UNICODE_COMBINING_MARK = 1 << 19, /* of StripAccents */

    LEAT_UNICODE_LETTER =
        LEAT_UNICODE_LU | LEAT_UNICODE_LL | LEAT_UNICODE_LT | LEAT_UNICODE_LM | LEAT_UNICODE_LO,
};

#define LEAT_UNICODE_MAX UINT32_C(0x10ffff)

extern const uint16_t leat_unicode_u16_class_blocks[];
extern const uint8_t leat_unicode_u16_class[];
extern const uint32_t leat_unicode_u16_masks[];
extern const uint64_t leat_unicode_u16_letters[];
extern const uint16_t leat_unicode_u16_cut_script_blocks[];
extern const uint8_t leat_unicode_u16_cut_script[];

/* The classes of a code point (up to LEAT_UNICODE_MAX), enum leat_unicode_class. */
static inline uint32_t leat_unicode_classes(uint32_t code_point) {
    uint32_t block = leat_unicode_u16_class_blocks[code_point >> 7];

    return leat_unicode_u16_masks[leat_unicode_u16_class[block << 7 | (code_point & 127)]];
}

/* The script as the pre-tokenizer UnicodeScripts cuts by it; 0: belongs to any. The numbers have no
 * meaning but that equal ones are one script. */
static inline uint32_t leat_unicode_cut_script(uint32_t code_point) {
    uint32_t block = leat_unicode_u16_cut_script_blocks[code_point >> 7];

    return leat_unicode_u16_cut_script[block << 7 | (code_point & 127)];
}

/* The character at `text`, which is valid UTF-8; its length goes to *ret_n_bytes. */
static inline uint32_t leat_unicode_decode(const uint8_t *text, uint32_t *ret_n_bytes) {
    uint32_t first = text[0];

    if (first < 0x80) {
        *ret_n_bytes = 1;
        return first;
    }
    if (first < 0xe0) {
        *ret_n_bytes = 2;
        return (first & 0x1f) << 6 | (text[1] & 0x3f);
    }
    if (first < 0xf0) {
        *ret_n_bytes = 3;
        return (first & 0xf) << 12 | (text[1] & 0x3fU) << 6 | (text[2] & 0x3f);
    }
    *ret_n_bytes = 4;
    return (first & 7) << 18 | (text[1] & 0x3fU) << 12 | (text[2] & 0x3fU) << 6 | (text[3] & 0x3f);
}

/* Looks up the character at `text`, of 2 or 3 bytes of UTF-8, in a table of 1,024 words with a bit
 * for each code point up to U+FFFF. */
static inline bool leat_unicode_has_bit(const uint64_t *table, const uint8_t *text,
                                        uint32_t *ret_n_bytes) {
    uint32_t n = *ret_n_bytes = text[0] < 0xe0 ? 2 : 3;
    uint32_t word = n == 2 ? text[0] & 0x1fU : (text[0] & 0xfU) << 6 | (text[1] & 0x3fU);

    return table[word] >> (text[n - 1] & 0x3f) & 1;
}

/* Writes 1 to 4 bytes; returns how many. */
static inline uint32_t leat_unicode_encode(uint32_t code_point, uint8_t *bytes) {
    if (code_point < 0x80) {
        bytes[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | code_point >> 6);
        bytes[1] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | code_point >> 12);
        bytes[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
        bytes[2] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 3;
    }
    bytes[0] = (uint8_t)(0xf0 | code_point >> 18);
    bytes[1] = (uint8_t)(0x80 | (code_point >> 12 & 0x3f));
    bytes[2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
    bytes[3] = (uint8_t)(0x80 | (code_point & 0x3f));
    return 4;
}
