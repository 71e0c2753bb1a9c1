/* segment_small.c: the search of segment_shortest.c for a text whose positions are bits of one
 * word; and the longest token at each place. */
#include "pipeline/tokenizer/chartrie/chartrie_internal.h"

#define N_POSITIONS (LEAT_SEGMENT_SMALL + 1)

/* Finds the level of position n: levels[k] holds the positions that k tokens reach, and fewer do
 * not. 0: there is none. */
static size_t find_levels(const uint64_t *masks, size_t n, uint64_t *levels) {
    uint64_t reached = 1, level = 1;
    size_t n_levels = 0;

    while (level && !(level >> n & 1)) {
        uint64_t next = 0;

        levels[n_levels++] = level;
        for (uint64_t bits = level; bits; bits &= bits - 1) {
            int position = __builtin_ctzll(bits);

            next |= masks[position] << position << 1;
        }
        level = next & ~reached;
        reached |= next;
    }
    return level ? n_levels : 0;
}

/* The first position of a level at which a token begins that ends at `end`. */
static size_t find_before(const uint64_t *masks, uint64_t level, size_t end) {
    size_t position = (size_t)__builtin_ctzll(level);

    while (!(masks[position] << position >> (end - 1) & 1)) {
        level &= level - 1;
        position = (size_t)__builtin_ctzll(level);
    }
    return position;
}

size_t leat_segment_small_shortest(const struct leat_chartrie *trie, const uint32_t *matches,
                                   size_t n, int32_t *ids) {
    const struct leat_automaton *automaton = &trie->automaton;
    uint64_t masks[N_POSITIONS], levels[N_POSITIONS];
    size_t n_ids, end = n;

    if (automaton->matches[matches[0]].n_bytes == n) {
        ids[0] = trie->ids[matches[0]];
        return 1;
    }
    for (size_t i = 0; i <= n; i++)
        masks[i] = automaton->masks[matches[i]];
    n_ids = find_levels(masks, n, levels);
    for (size_t level = n_ids; level > 0;) {
        size_t before = find_before(masks, levels[--level], end);
        uint32_t match = leat_automaton_shorten(automaton, matches[before], end - before);

        ids[level] = trie->ids[match];
        end = before;
    }
    return n_ids;
}

size_t leat_segment_small_greedy(const struct leat_chartrie *trie, const uint32_t *matches,
                                 size_t n, int32_t *ids) {
    size_t n_ids = 0;

    for (size_t position = 0; position < n;) {
        uint32_t match = matches[position];

        if (!match)
            return 0;
        ids[n_ids++] = trie->ids[match];
        position += trie->automaton.matches[match].n_bytes;
    }
    return n_ids;
}
