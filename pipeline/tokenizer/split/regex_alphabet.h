/* regex_alphabet.h: the few kinds of characters that a regex can tell apart.
 *
 * Code points that belong to the same sets of a tree behave alike: they are one letter. A text
 * becomes a string of letters, one byte for each character, and the regex one over bytes, whatever
 * the classes in it. So the matcher needs neither UTF-8 nor tables of Unicode, and a class costs a
 * test of a bit.
 *
 * Immutable once built.
 */
#pragma once

#include "pipeline/tokenizer/split/regex_tree.h"

#define LEAT_REGEX_LETTERS_MAX   256
#define LEAT_REGEX_BLOCK_CODES   128
#define LEAT_REGEX_ALPHABET_SIZE ((LEAT_CODE_MAX + 1) / LEAT_REGEX_BLOCK_CODES)

struct leat_regex_alphabet {
    uint16_t block_of[LEAT_REGEX_ALPHABET_SIZE]; /* by code point / 128 */
    uint8_t (*blocks)[LEAT_REGEX_BLOCK_CODES];   /* the letter of each code point */
    uint32_t n_blocks;
    size_t blocks_capacity;
    uint32_t n_letters;
    /* which sets each letter is in: bits of the sets' numbers */
    uint64_t members[LEAT_REGEX_LETTERS_MAX][LEAT_REGEX_SETS_MAX / 64];
};

/* 0, -ENOMEM, or -EINVAL: there are too many letters. To be freed in any case. */
int leat_regex_alphabet_init(struct leat_regex_alphabet *alphabet,
                             const struct leat_regex_tree *tree, struct leat_error *err);
void leat_regex_alphabet_deinit(struct leat_regex_alphabet *alphabet);

static inline bool leat_regex_letter_is_in(const struct leat_regex_alphabet *alphabet,
                                           uint32_t letter, uint32_t set) {
    return alphabet->members[letter][set / 64] >> (set % 64) & 1;
}

/* Writes the letters of a text of valid UTF-8, n_bytes at most; returns how many. */
uint32_t leat_regex_alphabet_spell(const struct leat_regex_alphabet *alphabet, const uint8_t *text,
                                   uint32_t n_bytes, uint8_t *letters);
