/* segment_shortest.c: the fewest tokens, by breadth-first search over positions, 64 at a time.
 *
 * The positions that k tokens reach, and fewer do not, are level k. Level k + 1 is the union of the
 * masks of token lengths at level k's positions, shifted there, less what was reached before: per
 * position two shifts and two ors, however many tokens begin there. The path is then found from the
 * end: before position j of level k stands the first position of level k - 1 at which a token
 * begins that ends at j. This is the rule of ties of chartrie.h.
 *
 * Unknown characters do not occur here: if the end cannot be reached without them, or if tokens
 * have costs, segment_best_path.c takes over.
 *
 * A long text goes in windows: all levels of a window are found; what the paths to all positions
 * near its end have in common is settled and emitted, and the next window begins there.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/chartrie/chartrie_internal.h"

#define WINDOW_BYTES  32768 /* positions are numbered in 16 bits */
#define MAX_BYTES_MAX 512   /* of a token, for this search to be worth it */

struct search {
    const struct leat_automaton *automaton;
    const uint32_t *longest;          /* [n + 1]: match at each position; none at n */
    size_t n;                         /* positions 0..n */
    uint64_t *masks;                  /* [n + 1]: lengths below 64 of the tokens at each position */
    bool has_long;                    /* there are tokens of 64 bytes and more */
    uint64_t *reached, *level, *next; /* bit a position */
    uint16_t *order;                  /* [n + 1]: positions, level by level, each ascending */
    uint16_t *starts;                 /* [n + 2]: of each level in `order`, and of the end */
    size_t n_levels;
};

/* Copies the masks that the search needs out of the automaton, in the order of their use. */
static void gather_masks(struct search *search) {
    const uint64_t *masks = search->automaton->masks;
    uint64_t all = 0;

    for (size_t i = 0; i <= search->n; i++) {
        uint64_t mask = masks[search->longest[i]];

        all |= mask;
        search->masks[i] = mask & ~LEAT_AUTOMATON_MASK_LONG;
    }
    search->has_long = all & LEAT_AUTOMATON_MASK_LONG;
}

static int search_init(struct search *search, struct leat_segment *segment, size_t first,
                       size_t end) {
    struct leat_encoder *encoder = segment->encoder;
    size_t n = end - first, n_words = n / 64 + 2 + segment->trie->automaton.max_bytes / 64;

    search->automaton = &segment->trie->automaton;
    search->longest = segment->matches + (first - segment->first);
    search->n = n;
    search->n_levels = 0;
    search->masks =
        leat_encoder_scratch(encoder, &encoder->path, (n + 1 + n_words * 3) * sizeof(uint64_t));
    search->order = leat_encoder_scratch(encoder, &encoder->costs, (n * 2 + 3) * sizeof(uint16_t));
    if (!search->masks || !search->order)
        return -ENOMEM;
    search->reached = search->masks + n + 1;
    search->level = search->reached + n_words;
    search->next = search->level + n_words;
    memset(search->reached, 0, n_words * 3 * sizeof(uint64_t));
    search->starts = search->order + n + 1;
    gather_masks(search);
    return 0;
}

/* Tokens of 64 bytes and more, which the masks do not hold; returns the last word touched. */
static size_t spread_long(struct search *search, size_t word, uint64_t bits, size_t last_word) {
    const struct leat_automaton_match *matches = search->automaton->matches;

    for (; bits; bits &= bits - 1) {
        size_t position = word * 64 + (size_t)__builtin_ctzll(bits);

        for (uint32_t match = search->longest[position]; matches[match].n_bytes >= 64;
             match = matches[match].shorter) {
            size_t end = position + matches[match].n_bytes;

            search->next[end / 64] |= UINT64_C(1) << (end % 64);
            last_word = end / 64 > last_word ? end / 64 : last_word;
        }
    }
    return last_word;
}

/* The positions that those of one word of bits reach, in that word and in the next, and the end of
 * `order`. */
struct spread {
    uint64_t low, high;
    uint16_t *order;
};

static inline struct spread spread_word(const uint64_t *masks, size_t word, uint64_t bits,
                                        uint16_t *order) {
    struct spread spread = {.order = order};

    for (; bits; bits &= bits - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(bits);
        uint64_t mask = masks[word * 64 + bit];

        *spread.order++ = (uint16_t)(word * 64 + bit);
        spread.low |= (mask << bit) << 1;
        spread.high |= mask >> (63 - bit);
    }
    return spread;
}

/* From all positions of the level, in words first..*last, to the next level's; swaps the two. */
static void spread_level(struct search *search, size_t *first, size_t *last) {
    uint64_t *level = search->level, *next = search->next, carry = 0;
    uint16_t *order = search->order + search->starts[search->n_levels];
    size_t last_word = *last;

    for (size_t word = *first; word <= *last; word++) {
        uint64_t bits = level[word] & ~search->reached[word];
        struct spread spread = spread_word(search->masks, word, bits, order);

        order = spread.order;
        search->reached[word] |= bits;
        level[word] = 0;
        next[word] |= spread.low | carry;
        carry = spread.high;
        if (search->has_long)
            last_word = spread_long(search, word, bits, last_word);
    }
    search->starts[++search->n_levels] = (uint16_t)(order - search->order);
    next[*last + 1] |= carry;
    if (carry && last_word == *last)
        last_word++;
    *last = last_word;
    search->level = next;
    search->next = level;
    while (*first < *last && next[*first] == 0)
        ++*first;
}

/* Finds levels until one holds position n (of that level only n is then in `order`), or all there
 * are; true if n was to be reached and was. */
static bool search_run(struct search *search, bool is_whole) {
    size_t first = 0, last = 0;

    search->level[0] = 1;
    search->starts[0] = 0;
    while (search->level[first] || first < last) {
        if (is_whole && search->level[search->n / 64] >> (search->n % 64) & 1) {
            size_t start = search->starts[search->n_levels++];

            search->order[start] = (uint16_t)search->n;
            search->starts[search->n_levels] = (uint16_t)(start + 1);
            return true;
        }
        spread_level(search, &first, &last);
    }
    return false;
}

static bool has_match(const struct search *search, size_t position, size_t n_bytes) {
    const struct leat_automaton_match *matches = search->automaton->matches;
    uint32_t match = search->longest[position];

    while (matches[match].n_bytes > n_bytes)
        match = matches[match].shorter;
    return matches[match].n_bytes == n_bytes;
}

/* The position before that one on its best path: the first of level `level`, the one before its
 * own, at which a token begins that ends there. */
static size_t find_before(const struct search *search, size_t position, size_t level) {
    const uint16_t *at = search->order + search->starts[level];

    while (*at + 64U <= position) {
        if (search->has_long && has_match(search, *at, position - *at))
            return *at;
        at++;
    }
    while (!(search->masks[*at] >> (position - *at - 1) & 1))
        at++;
    return *at;
}

/* Puts the ids of the best path to a position of that level. */
static int emit(const struct search *search, struct leat_segment *segment, size_t position,
                size_t level) {
    struct leat_encoder *encoder = segment->encoder;
    int32_t *at;

    if (leat_encoder_make_room(encoder, level) < 0)
        return -ENOMEM;
    encoder->n_ids += level;
    at = encoder->ids + encoder->n_ids;
    while (level > 0) {
        size_t before = find_before(search, position, --level);
        uint32_t match = search->longest[before];

        /* mostly the longest there: known without a look at the automaton */
        if (search->has_long || search->masks[before] >> (position - before - 1) != 1)
            match = leat_automaton_shorten(search->automaton, match, position - before);
        *--at = segment->trie->ids[match];
        position = before;
    }
    return 0;
}

static bool is_marked(const uint64_t *marks, size_t position) {
    return marks[position / 64] >> (position % 64) & 1;
}

static void mark(uint64_t *marks, size_t position) {
    marks[position / 64] |= UINT64_C(1) << (position % 64);
}

/* Marks the positions of a level that are ends of paths: from `start` on. Returns how many of the
 * level are marked then; *ret_last is the last of them. */
static size_t mark_ends(const struct search *search, uint64_t *marks, size_t level, size_t start,
                        size_t *n_ends, size_t *ret_last) {
    size_t n_marked = 0;

    for (size_t i = search->starts[level]; i < search->starts[level + 1]; i++) {
        size_t position = search->order[i];

        if (position >= start) {
            mark(marks, position);
            --*n_ends;
        }
        if (is_marked(marks, position)) {
            *ret_last = position;
            n_marked++;
        }
    }
    return n_marked;
}

/* The last position, and its level, that the paths to all reached positions from `start` on have in
 * common: from the last level to the first, those positions and what comes before them on their
 * paths, until there is only one. False if none is reached. `next` is empty and takes the marks. */
static bool find_meeting(const struct search *search, size_t start, size_t *ret_position,
                         size_t *ret_level) {
    uint64_t *marks = search->next;
    size_t n_ends = 0;

    for (size_t i = 0; i < search->starts[search->n_levels]; i++)
        n_ends += search->order[i] >= start;
    *ret_level = search->n_levels;
    if (n_ends == 0)
        return false;
    for (;;) {
        size_t level = --*ret_level;

        if (mark_ends(search, marks, level, start, &n_ends, ret_position) == 1 && n_ends == 0)
            return true;
        for (size_t i = search->starts[level]; i < search->starts[level + 1]; i++)
            if (is_marked(marks, search->order[i]))
                mark(marks, find_before(search, search->order[i], level - 1));
    }
}

/* Encodes the rest of the text, or a window of it, from *first on, and moves *first; leaves it if
 * this search cannot. */
static int encode_window(struct leat_segment *segment, size_t *first) {
    size_t n = segment->row->n_bytes, max_bytes = segment->trie->automaton.max_bytes;
    size_t end = n - *first > WINDOW_BYTES ? *first + WINDOW_BYTES : n;
    size_t settled = end - *first, level;
    struct search search;
    bool is_found;

    if ((*first < segment->first || end != segment->end) &&
        leat_segment_load(segment, *first, end, 0) < 0)
        return -ENOMEM;
    if (search_init(&search, segment, *first, end) < 0)
        return -ENOMEM;
    is_found = search_run(&search, end == n);
    level = search.n_levels - 1;
    if (end < n)
        is_found = find_meeting(&search, search.n + 1 - max_bytes, &settled, &level) &&
                   settled >= WINDOW_BYTES / 4;
    if (!is_found)
        return 0;
    *first += settled;
    return emit(&search, segment, settled, level);
}

int leat_segment_shortest(struct leat_segment *segment) {
    const struct leat_chartrie *trie = segment->trie;
    bool is_plain = !trie->costs && trie->automaton.max_bytes <= MAX_BYTES_MAX;
    size_t position = 0;
    double cost = 0;

    while (position < segment->row->n_bytes && segment->row->unknown == LEAT_ENCODER_NO_UNKNOWN) {
        size_t before = position;
        int r = is_plain ? encode_window(segment, &position) : 0;

        if (r == 0 && position == before)
            r = leat_segment_best_path(segment, &position, &cost);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- short texts, whose positions are bits of one word ---- */

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
static size_t find_position(const uint64_t *masks, uint64_t level, size_t end) {
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
        size_t before = find_position(masks, levels[--level], end);
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
