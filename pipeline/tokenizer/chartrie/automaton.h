/* automaton.h: all tokens that begin at each position of a text, in one pass (Aho and Corasick
 * 1975).
 *
 * The tokens are held reversed and the text is read from its end to its start, so that what the
 * automaton finds at a position are the tokens that begin there. Its state is the longest run of
 * bytes from the position on that ends some token. A state that has no child hands over to its
 * failure state at once (its base is that state's base), so that failing is rare.
 *
 * For each position a scan gives a match: the longest token that begins there, or 0 for none. The
 * others that begin there are its prefixes: matches[m].shorter is the next one, 0 ends the chain.
 * masks[m] holds the lengths of all of them: bit n - 1 for n bytes, n < 64; bit 63 says that there
 * are some of 64 bytes or more.
 *
 * Immutable once built: any thread. */
#pragma once

#include "pipeline/tokenizer/double_array.h"

#define LEAT_AUTOMATON_MASK_LONG (UINT64_C(1) << 63)

struct leat_automaton_match {
    uint32_t n_bytes;
    uint32_t shorter;
};

struct leat_automaton_key {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 1.. */
};

struct leat_automaton {
    struct leat_double_array_node *nodes;
    uint32_t *fails;                      /* by base: the failure state's base */
    uint32_t *longest;                    /* by state: a match */
    struct leat_automaton_match *matches; /* match i + 1 is key i */
    uint64_t *masks;                      /* of the matches */
    uint32_t max_bytes;                   /* of a key */
};

/* A piece of text: the match at each of its positions goes to matches[0..n_bytes-1]. Tokens may end
 * up to n_ahead bytes beyond the piece; those that would end later are not found. */
struct leat_automaton_scan {
    const uint8_t *text;
    size_t n_bytes;
    size_t n_ahead; /* readable bytes after the piece */
    uint32_t *matches;
};

/* Builds the automaton of keys that differ, at least one. 0, -ENOMEM, -E2BIG. */
int leat_automaton_build(struct leat_automaton *automaton, const struct leat_automaton_key *keys,
                         size_t n_keys, struct leat_error *err);
void leat_automaton_deinit(struct leat_automaton *automaton);

/* Scans all the pieces, several at a time. */
void leat_automaton_scan(const struct leat_automaton *automaton,
                         const struct leat_automaton_scan *scans, size_t n_scans);

/* Scans one short piece, of which tokens end within. */
void leat_automaton_scan_piece(const struct leat_automaton *automaton, const uint8_t *text,
                               size_t n_bytes, uint32_t *matches);

/* The match of n_bytes among those that begin where `match` does; there must be one. */
static inline uint32_t leat_automaton_shorten(const struct leat_automaton *automaton,
                                              uint32_t match, size_t n_bytes) {
    while (automaton->matches[match].n_bytes != n_bytes)
        match = automaton->matches[match].shorter;
    return match;
}
