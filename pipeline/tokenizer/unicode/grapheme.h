/* grapheme.h: extended grapheme clusters (Unicode Standard Annex 29, rules GB3 to GB13).
 *
 * Immutable: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The class of a character in the rules. EXTEND, EXTEND_CONJUNCT and LINKER are all Extend; they
 * differ in their Indic_Conjunct_Break. */
enum leat_grapheme {
    LEAT_GRAPHEME_OTHER,
    LEAT_GRAPHEME_CONTROL,
    LEAT_GRAPHEME_CR,
    LEAT_GRAPHEME_LF,
    LEAT_GRAPHEME_EXTEND,
    LEAT_GRAPHEME_EXTEND_CONJUNCT,
    LEAT_GRAPHEME_LINKER,
    LEAT_GRAPHEME_ZWJ,
    LEAT_GRAPHEME_SPACING_MARK,
    LEAT_GRAPHEME_PREPEND,
    LEAT_GRAPHEME_REGIONAL_INDICATOR,
    LEAT_GRAPHEME_L,
    LEAT_GRAPHEME_V,
    LEAT_GRAPHEME_T,
    LEAT_GRAPHEME_LV,
    LEAT_GRAPHEME_LVT,
    LEAT_GRAPHEME_PICTOGRAPHIC,
    LEAT_GRAPHEME_CONSONANT,
};

extern const uint16_t leat_unicode_u16_grapheme_blocks[];
extern const uint8_t leat_unicode_u16_grapheme[];

static inline enum leat_grapheme leat_grapheme_of(uint32_t code_point) {
    uint32_t block = leat_unicode_u16_grapheme_blocks[code_point >> 7];

    return (enum leat_grapheme)leat_unicode_u16_grapheme[block << 7 | (code_point & 127)];
}

/* Bytes of the cluster that begins at `text`: n >= 1 bytes of valid UTF-8. */
size_t leat_grapheme_length(const uint8_t *text, size_t n);
