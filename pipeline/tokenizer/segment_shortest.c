/* segment_shortest.c: the fewest tokens, by breadth-first search over positions, 64 at a time.
 *
 * The positions that k tokens reach, and fewer do not, are level k. Level k + 1 is the union of the
 * masks of token lengths at level k's positions, shifted there, less what was reached before: per
 * position one shift and one or, however many tokens begin there. The path is then found from the
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
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pipeline/tokenizer/segment.h"

#define WINDOW_BYTES  32768 /* levels are numbered in 16 bits */
#define UNREACHED     UINT16_MAX
#define MAX_BYTES_MAX 512 /* of a token, for this search to be worth it */

struct search {
    const struct leat_automaton *automaton;
    const uint32_t *states;
    size_t n; /* positions 0..n */
    size_t n_words;
    uint64_t *reached, *level, *next; /* bit a position */
    uint16_t *levels; /* [0..n]: of each position; n_before words before it are UNREACHED */
    size_t n_before;
};

static int search_init(struct search *search, struct leat_segment *segment, size_t first,
                       size_t end) {
    struct leat_encoder *encoder = segment->encoder;
    size_t n_bytes;

    search->automaton = &segment->trie->automaton;
    search->states = segment->states + (first - segment->first);
    search->n = end - first;
    search->n_words = search->n / 64 + 2 + search->automaton->max_bytes / 64;
    search->n_before = (search->automaton->max_bytes + 63) / 64 * 64;
    n_bytes = (search->n + 1 + search->n_before) * sizeof(uint16_t);
    search->reached =
        leat_encoder_scratch(encoder, &encoder->path, search->n_words * 3 * sizeof(uint64_t));
    search->levels = leat_encoder_scratch(encoder, &encoder->costs, n_bytes);
    if (!search->reached || !search->levels)
        return -ENOMEM;
    search->level = search->reached + search->n_words;
    search->next = search->level + search->n_words;
    memset(search->reached, 0, search->n_words * 3 * sizeof(uint64_t));
    memset(search->levels, 0xff, n_bytes);
    search->levels += search->n_before;
    return 0;
}

/* Tokens of 64 bytes and more, which the mask does not hold: returns the last word touched. */
static size_t spread_long(struct search *search, size_t position, size_t last_word) {
    const struct leat_automaton_match *matches = search->automaton->matches;
    uint32_t match = search->automaton->first_match[search->states[position]];

    for (; match != LEAT_AUTOMATON_NO_MATCH && matches[match].n_bytes >= 64;
         match = matches[match].shorter) {
        size_t end = position + matches[match].n_bytes;

        search->next[end / 64] |= UINT64_C(1) << (end % 64);
        last_word = end / 64 > last_word ? end / 64 : last_word;
    }
    return last_word;
}

/* From all positions of the level in words first..*last to the next level's, and swaps the two. */
static void spread(struct search *search, uint16_t number, size_t *first, size_t *last) {
    const uint64_t *masks = search->automaton->masks;
    uint64_t carry = 0, *level = search->level;
    size_t last_word = *last;

    for (size_t word = *first; word <= *last; word++) {
        uint64_t bits = level[word] & ~search->reached[word], low = carry, high = 0;

        search->reached[word] |= bits;
        level[word] = 0;
        for (; bits; bits &= bits - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(bits);
            size_t position = word * 64 + bit;
            uint64_t mask = masks[search->states[position]];

            search->levels[position] = number;
            if (__builtin_expect((mask & LEAT_AUTOMATON_MASK_LONG) != 0, 0)) {
                last_word = spread_long(search, position, last_word);
                mask &= ~LEAT_AUTOMATON_MASK_LONG;
            }
            low |= (mask << bit) << 1;
            high |= mask >> (63 - bit);
        }
        search->next[word] |= low;
        carry = high;
    }
    search->next[*last + 1] |= carry;
    if (carry && last_word == *last)
        last_word++;
    *last = last_word;
    search->level = search->next;
    search->next = level;
    while (*first < *last && search->level[*first] == 0)
        ++*first;
}

/* Numbers the positions until position n has its number, or all that can be reached have. */
static void search_run(struct search *search, bool is_whole) {
    size_t first = 0, last = 0;

    search->level[0] = 1;
    for (uint16_t number = 0; search->level[first] || first < last; number++) {
        if (!is_whole && search->level[search->n / 64] >> (search->n % 64) & 1) {
            search->levels[search->n] = number;
            return;
        }
        spread(search, number, &first, &last);
    }
}

/* Which of 64 levels are that number: bit i for levels[i]. */
static uint64_t find_equal(const uint16_t *levels, uint16_t number) {
    uint64_t found = 0;

#ifdef __SSE2__
    __m128i wanted = _mm_set1_epi16((short)number);

    for (int i = 0; i < 64; i += 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)(levels + i));
        __m128i b = _mm_loadu_si128((const __m128i *)(const void *)(levels + i + 8));
        __m128i both = _mm_packs_epi16(_mm_cmpeq_epi16(a, wanted), _mm_cmpeq_epi16(b, wanted));

        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(both) << i;
    }
#else
    for (int i = 0; i < 64; i++)
        found |= (uint64_t)(levels[i] == number) << i;
#endif
    return found;
}

static bool has_long(const struct search *search, size_t position, size_t n_bytes) {
    const struct leat_automaton_match *matches = search->automaton->matches;
    uint32_t match = search->automaton->first_match[search->states[position]];

    while (match != LEAT_AUTOMATON_NO_MATCH && matches[match].n_bytes > n_bytes)
        match = matches[match].shorter;
    return match != LEAT_AUTOMATON_NO_MATCH && matches[match].n_bytes == n_bytes;
}

/* The position before that one, which is above 0 and reached, on its best path. */
static size_t find_before(const struct search *search, size_t position) {
    const uint64_t *masks = search->automaton->masks;
    uint16_t number = (uint16_t)(search->levels[position] - 1);

    for (size_t back = search->n_before; back > 64; back -= 64) {
        uint64_t found = find_equal(search->levels + position - back, number);

        for (; found; found &= found - 1) {
            size_t n_bytes = back - (size_t)__builtin_ctzll(found);

            if (has_long(search, position - n_bytes, n_bytes))
                return position - n_bytes;
        }
    }
    for (uint64_t found = find_equal(search->levels + position - 64, number);; found &= found - 1) {
        size_t n_bytes = 64 - (size_t)__builtin_ctzll(found);

        if (n_bytes == 64 ? has_long(search, position - 64, 64)
                          : masks[search->states[position - n_bytes]] >> (n_bytes - 1) & 1)
            return position - n_bytes;
    }
}

static int emit(const struct search *search, struct leat_segment *segment, size_t end) {
    struct leat_encoder *encoder = segment->encoder;
    size_t n = search->levels[end];
    int32_t *at;

    if (leat_encoder_make_room(encoder, n) < 0)
        return -ENOMEM;
    encoder->n_ids += n;
    at = encoder->ids + encoder->n_ids;
    while (end > 0) {
        size_t before = find_before(search, end);

        *--at = segment->trie->ids[leat_automaton_match(search->automaton, search->states[before],
                                                        end - before)];
        end = before;
    }
    return 0;
}

/* The last position that the paths to all reached positions from `start` on have in common; n if
 * there are none. The levels are done with their bits. */
static size_t find_meeting(struct search *search, size_t start) {
    uint64_t *marks = search->next;
    size_t n_marked = 0, word = search->n / 64;

    for (size_t i = start; i <= search->n; i++)
        if (search->levels[i] != UNREACHED) {
            marks[i / 64] |= UINT64_C(1) << (i % 64);
            n_marked++;
        }
    if (n_marked == 0)
        return 0;
    for (;;) {
        size_t i;

        while (marks[word] == 0)
            word--;
        i = word * 64 + 63 - (size_t)__builtin_clzll(marks[word]);
        if (n_marked == 1)
            return i;
        marks[word] &= ~(UINT64_C(1) << (i % 64));
        i = find_before(search, i);
        n_marked -= marks[i / 64] >> (i % 64) & 1;
        marks[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* Encodes the rest of the text, or a window of it, from *first on, and moves *first; leaves it if
 * this search cannot. */
static int encode_window(struct leat_segment *segment, size_t *first) {
    size_t n = segment->row->n_bytes, max_bytes = segment->trie->automaton.max_bytes;
    size_t end = n - *first > WINDOW_BYTES ? *first + WINDOW_BYTES : n, settled = end - *first;
    struct search search;
    int r;

    if ((*first < segment->first || end != segment->end) &&
        leat_segment_load(segment, *first, end, 0) < 0)
        return -ENOMEM;
    if (search_init(&search, segment, *first, end) < 0)
        return -ENOMEM;
    search_run(&search, end < n);
    if (end < n)
        settled = find_meeting(&search, search.n + 1 - max_bytes);
    if (search.levels[settled] == UNREACHED || (end < n && settled < WINDOW_BYTES / 4))
        return 0;
    r = emit(&search, segment, settled);
    *first += settled;
    return r;
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
