/* charsmap.h: the `precompiled_charsmap` of a Precompiled normalizer: SentencePiece's rules of
 * normalization, compiled to a trie.
 *
 * The bytes are, in base64, the size of the trie in bytes (32 bits, little-endian), a trie of
 * darts-clone (32-bit units), and the replacements, UTF-8, each ending with NUL. All of it is
 * foreign: every unit is looked at with care, and a replacement that does not begin at a character
 * within the text is none.
 *
 * Immutable: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_CHARSMAP_BYTES_MAX (64u << 20)

struct leat_charsmap {
    uint32_t *units;
    uint32_t n_units;
    uint8_t *replacements; /* with NUL bytes after them */
    uint32_t n_replacements;
};

/* 0; -EINVAL with err set (no path); -ENOMEM. */
int leat_charsmap_init(struct leat_charsmap *map, const char *base64, size_t n_base64,
                       struct leat_error *err);
void leat_charsmap_deinit(struct leat_charsmap *map);

/* Finds the shortest entry that the bytes begin with. Returns its replacement, UTF-8 of any length
 * that ends with NUL, or NULL if there is no entry. */
const uint8_t *leat_charsmap_find(const struct leat_charsmap *map, const uint8_t *bytes,
                                  uint32_t n_bytes);

/* No replacement has more bytes than these. */
uint32_t leat_charsmap_longest(const struct leat_charsmap *map);

/* True if no entry is a prefix of the bytes, nor begins with them. */
bool leat_charsmap_is_apart(const struct leat_charsmap *map, const uint8_t *bytes,
                            uint32_t n_bytes);
