/* grapheme.c: see grapheme.h. Reads a cluster from left to right and remembers, of what is before
 * the place in question, the three things that the rules look at: whether it ends in an emoji that
 * a joiner may follow, whether in a consonant (and, since that, a linker), and how many regional
 * indicators in a row.
 */
#include "pipeline/tokenizer/unicode/grapheme.h"

#include <stdbool.h>

#include "pipeline/tokenizer/unicode/unicode.h"

struct state {
    enum leat_grapheme last;
    bool is_emoji;        /* \p{Extended_Pictographic} Extend* so far, or with the ZWJ last */
    bool is_consonant;    /* InCB=Consonant, then InCB=Extend and InCB=Linker only */
    bool has_linker;      /* of those, one Linker at least */
    bool is_odd_regional; /* an odd number of regional indicators */
};

static bool is_extend(enum leat_grapheme kind) {
    return kind == LEAT_GRAPHEME_EXTEND || kind == LEAT_GRAPHEME_EXTEND_CONJUNCT ||
           kind == LEAT_GRAPHEME_LINKER;
}

static bool is_control(enum leat_grapheme kind) {
    return kind == LEAT_GRAPHEME_CONTROL || kind == LEAT_GRAPHEME_CR || kind == LEAT_GRAPHEME_LF;
}

static bool is_hangul_joined(enum leat_grapheme before, enum leat_grapheme after) {
    switch (before) {
    case LEAT_GRAPHEME_L: /* GB6 */
        return after == LEAT_GRAPHEME_L || after == LEAT_GRAPHEME_V || after == LEAT_GRAPHEME_LV ||
               after == LEAT_GRAPHEME_LVT;
    case LEAT_GRAPHEME_LV: /* GB7 */
    case LEAT_GRAPHEME_V:
        return after == LEAT_GRAPHEME_V || after == LEAT_GRAPHEME_T;
    case LEAT_GRAPHEME_LVT: /* GB8 */
    case LEAT_GRAPHEME_T:
        return after == LEAT_GRAPHEME_T;
    default:
        return false;
    }
}

static bool is_joined(const struct state *state, enum leat_grapheme next) {
    if (is_control(state->last) || is_control(next)) /* GB3 to GB5 */
        return state->last == LEAT_GRAPHEME_CR && next == LEAT_GRAPHEME_LF;
    if (is_extend(next) || next == LEAT_GRAPHEME_ZWJ || /* GB9, GB9a, GB9b */
        next == LEAT_GRAPHEME_SPACING_MARK || state->last == LEAT_GRAPHEME_PREPEND)
        return true;
    if (next == LEAT_GRAPHEME_CONSONANT) /* GB9c */
        return state->is_consonant && state->has_linker;
    if (next == LEAT_GRAPHEME_PICTOGRAPHIC) /* GB11 */
        return state->is_emoji && state->last == LEAT_GRAPHEME_ZWJ;
    if (next == LEAT_GRAPHEME_REGIONAL_INDICATOR) /* GB12, GB13 */
        return state->is_odd_regional;
    return is_hangul_joined(state->last, next);
}

static void advance(struct state *state, enum leat_grapheme next) {
    bool is_conjunct = next == LEAT_GRAPHEME_LINKER || next == LEAT_GRAPHEME_EXTEND_CONJUNCT ||
                       next == LEAT_GRAPHEME_ZWJ;

    if (next == LEAT_GRAPHEME_PICTOGRAPHIC)
        state->is_emoji = true;
    else if (state->last == LEAT_GRAPHEME_ZWJ || !(is_extend(next) || next == LEAT_GRAPHEME_ZWJ))
        state->is_emoji = false;
    if (next == LEAT_GRAPHEME_CONSONANT)
        state->has_linker = false;
    else if (next == LEAT_GRAPHEME_LINKER)
        state->has_linker = true;
    state->is_consonant = next == LEAT_GRAPHEME_CONSONANT || (state->is_consonant && is_conjunct);
    state->is_odd_regional = next == LEAT_GRAPHEME_REGIONAL_INDICATOR && !state->is_odd_regional;
    state->last = next;
}

size_t leat_grapheme_length(const uint8_t *text, size_t n) {
    struct state state = {.last = LEAT_GRAPHEME_OTHER};
    uint32_t n_bytes;
    size_t at;

    advance(&state, leat_grapheme_of(leat_unicode_decode(text, &n_bytes)));
    for (at = n_bytes; at < n; at += n_bytes) {
        enum leat_grapheme next = leat_grapheme_of(leat_unicode_decode(text + at, &n_bytes));

        if (!is_joined(&state, next))
            break;
        advance(&state, next);
    }
    return at;
}
