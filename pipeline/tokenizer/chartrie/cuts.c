#include "pipeline/tokenizer/chartrie/cuts.h"

#define LOOK_BYTES  4096 /* at the start of a text */
#define PIECE_BYTES 32   /* of a piece on average, at most, in a text that is cut */

void leat_chartrie_cuts_add(struct leat_chartrie_cuts *cuts, const uint8_t *token,
                            uint32_t n_bytes) {
    for (uint32_t i = 1; i < n_bytes; i++)
        cuts->joins[token[i - 1]] |= leat_blank_bit(token[i]);
}

void leat_chartrie_cuts_finish(struct leat_chartrie_cuts *cuts) {
    uint8_t joined = 0;

    for (int byte = 0; byte < 256; byte++)
        cuts->blanks[byte] = leat_blank_bit((uint8_t)byte);
    for (uint8_t letter = 'a'; letter <= 'z'; letter++)
        joined |= cuts->joins[letter] | cuts->joins[letter - 'a' + 'A'];
    cuts->is_useful = !(joined & leat_blank_bit(' '));
}

LEAT_ALWAYS_INLINE bool has_pieces(const uint8_t *text, size_t n,
                                   leat_find_blanks_fn *find_blanks) {
    size_t n_blanks = 1, at = 0;

    for (; at + LEAT_BLANKS_BYTES <= n; at += LEAT_BLANKS_BYTES)
        n_blanks += (size_t)__builtin_popcountll(find_blanks(text + at));
    return n_blanks >= at / PIECE_BYTES;
}

LEAT_SIMD static bool has_pieces_simd(const uint8_t *text, size_t n) {
    return has_pieces(text, n, leat_find_blanks_simd);
}

bool leat_chartrie_has_pieces(const uint8_t *text, size_t n_bytes) {
    size_t n = n_bytes < LOOK_BYTES ? n_bytes : LOOK_BYTES;

    return leat_simd_is_here() ? has_pieces_simd(text, n)
                               : has_pieces(text, n, leat_find_blanks_portable);
}
