/* form.h: what normalization forms (Unicode Standard Annex 15) and lower case do to a character.
 *
 * The forms are those of Unicode 9, lower case that of Unicode 16, as `tokenizers` has them.
 * Immutable: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The normalization forms, in the order of the bits of `stable` and `boundary`. */
enum leat_form {
    LEAT_FORM_NFC,
    LEAT_FORM_NFD,
    LEAT_FORM_NFKC,
    LEAT_FORM_NFKD,
};

/* The mappings of a character: three places in a pool of code points, 0 long where the mapping
 * leaves the character alone (Hangul syllables decompose by arithmetic). */
struct leat_unicode_form {
    uint16_t canonical, compatible, lower;
    uint8_t n_canonical, n_compatible, n_lower;
    uint8_t combining_class;
    uint8_t stable : 4;   /* bit: the form leaves it alone, and it is a boundary */
    uint8_t boundary : 4; /* bit: what comes before has no effect on it, nor it on that */
};

struct leat_unicode_pair {
    uint32_t first, second, composed;
};

#define LEAT_UNICODE_DECOMPOSITION_MAX 18
#define LEAT_UNICODE_LOWER_MAX         3

extern const uint16_t leat_unicode_u16_form_blocks[];
extern const uint16_t leat_unicode_u16_form[];
extern const struct leat_unicode_form leat_unicode_u16_forms[];
extern const uint32_t leat_unicode_u16_form_pool[];
extern const uint64_t leat_unicode_u16_nfc_stable[]; /* bits, see leat_unicode_has_bit() */
extern const struct leat_unicode_pair leat_unicode_u16_pairs[];

static inline const struct leat_unicode_form *leat_unicode_form_of(uint32_t code_point) {
    uint32_t block = leat_unicode_u16_form_blocks[code_point >> 7];

    return &leat_unicode_u16_forms[leat_unicode_u16_form[block << 7 | (code_point & 127)]];
}

/* True for a Hangul syllable. */
static inline bool leat_unicode_is_hangul(uint32_t code_point) {
    return code_point - 0xac00U < 11172;
}

/* Writes the full decomposition of a character, which may be the character itself; returns its
 * length, at most LEAT_UNICODE_DECOMPOSITION_MAX. */
uint32_t leat_unicode_decompose(uint32_t code_point, bool is_compatible, uint32_t *ret_code_points);

/* The character that two compose to, 0 if they do not. */
uint32_t leat_unicode_compose(uint32_t first, uint32_t second);

/* Writes the lower case of a character, by itself (no rule looks at what is around it); returns its
 * length, at most LEAT_UNICODE_LOWER_MAX. */
uint32_t leat_unicode_lower(uint32_t code_point, uint32_t *ret_code_points);

/* Upper and title case, as Python 3.11 to 3.13 have them. */
#define LEAT_UNICODE_CASE_MAX 3

/* Write the upper or title case of a character, by itself; return its length, at most
 * LEAT_UNICODE_CASE_MAX. */
uint32_t leat_unicode_upper(uint32_t code_point, uint32_t *ret_code_points);
uint32_t leat_unicode_title(uint32_t code_point, uint32_t *ret_code_points);

/* The generated tables are sorted. */
struct leat_unicode_case {
    uint32_t code_point;
    uint32_t upper[LEAT_UNICODE_CASE_MAX], title[LEAT_UNICODE_CASE_MAX]; /* ends with 0 */
};
extern const struct leat_unicode_case leat_unicode_u16_cases[];
extern const size_t leat_unicode_u16_n_cases;
