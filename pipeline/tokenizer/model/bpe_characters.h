/* bpe_characters.h: characters that may begin as one symbol each in a word of a byte-level model.
 *
 * A word begins as bytes. The merges of a character's own bytes can be done first, all at once, if
 * none of them could have come after a merge that takes part of the character away, or that uses
 * the whole of it. Let m be the greatest rank among the character's own merges. It is so if each
 * merge of a first part of the character with what stands before it, each merge of a last part with
 * what stands behind it, and each merge of the whole character has a rank above m. Merges are
 * counted apart by the byte before the character and by the byte behind it.
 *
 * Characters of two and three bytes are kept. Filled once, then immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_BPE_CHARACTERS_MAX 0x10000

struct leat_bpe_pairs;
struct leat_token_table;

/* The bytes that may stand before and behind a character that is one symbol: bit byte & 63 of those
 * above ASCII, and whether all of ASCII may. */
struct leat_bpe_character {
    uint64_t before, behind;
    uint32_t id;
    bool before_ascii, behind_ascii;
};

struct leat_bpe_characters {
    uint16_t *index; /* [LEAT_BPE_CHARACTERS_MAX], by code point: into all; NULL: there are none */
    struct leat_bpe_character *all; /* [n]; 0 is no character */
    size_t n, capacity;
};

/* pairs: all merges. single: ids of bytes. 0 or -ENOMEM. */
int leat_bpe_characters_init(struct leat_bpe_characters *characters,
                             const struct leat_bpe_pairs *pairs,
                             const struct leat_token_table *tokens, const int32_t single[256]);
void leat_bpe_characters_deinit(struct leat_bpe_characters *characters);
size_t leat_bpe_characters_n_bytes(const struct leat_bpe_characters *characters);

/* True if that byte is in the set. */
static inline bool leat_bpe_character_allows(uint64_t others, bool ascii, uint8_t byte) {
    return byte < 0x80 ? ascii : others >> (byte & 63) & 1;
}

/* The character of two or three bytes at word[at], if it may be one symbol there, or NULL. */
static inline const struct leat_bpe_character *
leat_bpe_characters_find(const struct leat_bpe_characters *characters, const uint8_t *word,
                         uint32_t at, uint32_t n_bytes, uint32_t *ret_n) {
    uint32_t lead = word[at], n = lead < 0xe0 ? 2 : 3, code;
    const struct leat_bpe_character *found;

    if (lead < 0xc2 || lead >= 0xf0 || n_bytes - at < n)
        return NULL;
    code = n == 2 ? (lead & 31) << 6 | (word[at + 1] & 63U)
                  : (lead & 15) << 12 | (word[at + 1] & 63U) << 6 | (word[at + 2] & 63U);
    found = &characters->all[characters->index[code]];
    if (!found->id ||
        (at > 0 && !leat_bpe_character_allows(found->before, found->before_ascii, word[at - 1])) ||
        (at + n < n_bytes &&
         !leat_bpe_character_allows(found->behind, found->behind_ascii, word[at + n])))
        return NULL;
    *ret_n = n;
    return found;
}
