/* automaton.h: all tokens that begin at each position of a text, in one pass (Aho and Corasick
 * 1975).
 *
 * The tokens are held reversed and the text is read from its end to its start, so that what the
 * automaton finds at a position are the tokens that begin there. Its state is the longest run of
 * bytes from the position on that ends some token. A state that has no child hands over to its
 * failure state at once (its base is that state's base), so that failing is rare.
 *
 * masks[state] holds the lengths of the tokens that begin at the position: bit n - 1 for n bytes,
 * n < 64; bit 63 says that there are some of 64 bytes or more. first_match[state] is the longest of
 * them, matches[m].shorter the next one.
 *
 * State 0 is none that a scan meets: nothing begins there.
 *
 * Immutable once built: any thread.
 */
#pragma once

#include "pipeline/tokenizer/double_array.h"

#define LEAT_AUTOMATON_MASK_LONG (UINT64_C(1) << 63)
#define LEAT_AUTOMATON_NO_MATCH  UINT32_C(0xffffffff)

struct leat_automaton_match {
    uint32_t n_bytes;
    uint32_t shorter; /* or NO_MATCH */
};

struct leat_automaton_key {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 1.. */
};

struct leat_automaton {
    struct leat_double_array_node *nodes;
    uint32_t *fails;                      /* by base: the failure state's base */
    uint64_t *masks;                      /* by state */
    uint32_t *first_match;                /* by state, or NO_MATCH */
    struct leat_automaton_match *matches; /* by key: a match is the key's index */
    uint32_t n_nodes;
    uint32_t max_bytes; /* of a key */
};

/* A piece of text: the state at each of its positions goes to states[0..n_bytes-1]. Tokens may end
 * up to n_ahead bytes beyond the piece; those that would end later are not found. */
struct leat_automaton_scan {
    const uint8_t *text;
    size_t n_bytes;
    size_t n_ahead; /* readable bytes behind the piece */
    uint32_t *states;
};

/* Builds the automaton of keys that differ, at least one. 0, -ENOMEM, -E2BIG. */
int leat_automaton_build(struct leat_automaton *automaton, const struct leat_automaton_key *keys,
                         size_t n_keys, struct leat_error *err);
void leat_automaton_deinit(struct leat_automaton *automaton);

/* Scans all the pieces, several at a time. */
void leat_automaton_scan(const struct leat_automaton *automaton,
                         const struct leat_automaton_scan *scans, size_t n_scans);

/* The match of n_bytes at a state at which there is one. */
static inline uint32_t leat_automaton_match(const struct leat_automaton *automaton, uint32_t state,
                                            size_t n_bytes) {
    uint32_t match = automaton->first_match[state];

    while (automaton->matches[match].n_bytes != n_bytes)
        match = automaton->matches[match].shorter;
    return match;
}
