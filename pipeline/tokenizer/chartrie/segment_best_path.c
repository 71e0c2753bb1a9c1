/* segment_best_path.c: the forward dynamic program in full: costs, and characters that are unknown.
 *
 * Positions are expanded from the left; the best way to a position is known when its turn comes. An
 * edge is a token that begins there or an unknown character, which is one only if no token is
 * exactly that character. Costs are needed only as far ahead as the longest token, in a ring; for
 * each position there stays one number, the last edge of its best path.
 *
 * After a window of positions, the best paths to all positions that can still be continued are
 * followed back to where they meet: what lies before is settled and is emitted, and the caller goes
 * on there. If they do not meet in the second half of the window, the window grows fourfold, in the
 * worst case to the whole text at 4 bytes a byte of text. Ties and sums are the same wherever it
 * was cut, as all later paths go through that place and its cost is carried over.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/chartrie/chartrie_internal.h"
#include "proto/base/utf8.h"

#define WINDOW_BYTES 16384
#define NONE         UINT32_MAX
#define UNKNOWN      UINT32_C(0x80000000) /* an edge: UNKNOWN + bytes; else a match */

struct cell {
    double cost;
    uint32_t n_unknown; /* NONE: not reached */
};

struct program {
    struct leat_segment *segment;
    struct cell *ring;
    size_t ring_mask;
    size_t first;
    uint32_t *edges; /* [position - first]: the last edge of its best path, or NONE */
    size_t n_edges;
};

static size_t edge_bytes(const struct program *program, uint32_t edge) {
    return edge & UNKNOWN ? edge - UNKNOWN
                          : program->segment->trie->automaton.matches[edge].n_bytes;
}

static int make_ring(struct program *program, double cost) {
    struct leat_encoder *encoder = program->segment->encoder;
    size_t n = 8;

    while (n <= program->segment->trie->automaton.max_bytes)
        n *= 2;
    program->ring = leat_encoder_scratch(encoder, &encoder->costs, n * sizeof(*program->ring));
    if (!program->ring)
        return -ENOMEM;
    program->ring_mask = n - 1;
    for (size_t i = 0; i < n; i++)
        program->ring[i].n_unknown = NONE;
    program->ring[program->first & program->ring_mask] =
        (struct cell){.cost = cost, .n_unknown = 0};
    return 0;
}

/* Room for the edges of all positions up to `end`; keeps those that are there. */
static int make_edges(struct program *program, size_t end) {
    struct leat_encoder *encoder = program->segment->encoder;
    const uint32_t *old = program->edges;
    size_t n = end - program->first + 1;

    program->edges = leat_encoder_scratch(encoder, &encoder->path, n * sizeof(*program->edges));
    if (!program->edges)
        return -ENOMEM;
    if (old && old != program->edges)
        memcpy(program->edges, old, program->n_edges * sizeof(*old));
    memset(program->edges + program->n_edges, 0xff, (n - program->n_edges) * sizeof(*old));
    program->n_edges = n;
    return 0;
}

static inline void relax(struct program *program, size_t position, double cost, uint32_t n_unknown,
                         uint32_t edge) {
    struct cell *cell = &program->ring[position & program->ring_mask];

    if (n_unknown > cell->n_unknown || (n_unknown == cell->n_unknown && cost >= cell->cost))
        return;
    *cell = (struct cell){.cost = cost, .n_unknown = n_unknown};
    program->edges[position - program->first] = edge;
}

static void expand(struct program *program, size_t position) {
    const struct leat_chartrie *trie = program->segment->trie;
    const struct leat_encoder_row *row = program->segment->row;
    uint32_t longest = program->segment->matches[position - program->segment->first];
    struct cell *cell = &program->ring[position & program->ring_mask], from = *cell;
    uint32_t n_bytes;

    if (from.n_unknown == NONE)
        return;
    cell->n_unknown = NONE;
    for (uint32_t match = longest; match; match = trie->automaton.matches[match].shorter)
        relax(program, position + trie->automaton.matches[match].n_bytes,
              from.cost + (trie->costs ? trie->costs[match] : 1.0), from.n_unknown, match);
    n_bytes = leat_utf8_length(row->text + position, row->n_bytes - position);
    if (!(trie->automaton.masks[longest] >> (n_bytes - 1) & 1))
        relax(program, position + n_bytes, from.cost, from.n_unknown + 1, UNKNOWN + n_bytes);
}

static int expand_until(struct program *program, size_t position, size_t end) {
    for (; position < end; position++) {
        if (position >= program->segment->end &&
            leat_segment_load_window(
                program->segment, position,
                WINDOW_BYTES + 4 * (size_t)program->segment->trie->automaton.max_bytes) < 0)
            return -ENOMEM;
        expand(program, position);
    }
    return 0;
}

/* The last position that the best paths to all reached positions from `end` on have in common. 0 or
 * -ENOMEM. */
static int find_meeting(struct program *program, size_t end, size_t *ret_position) {
    struct leat_encoder *encoder = program->segment->encoder;
    size_t n_words = program->n_edges / 64 + 1, n_marked = 0, word = n_words - 1;
    uint64_t *marks = leat_encoder_scratch(encoder, &encoder->marks, n_words * sizeof(*marks));

    if (!marks)
        return -ENOMEM;
    memset(marks, 0, n_words * sizeof(*marks));
    for (size_t i = end - program->first; i < program->n_edges; i++)
        if (program->edges[i] != NONE) {
            marks[i / 64] |= UINT64_C(1) << (i % 64);
            n_marked++;
        }
    for (;;) {
        size_t i;

        while (marks[word] == 0)
            word--;
        i = word * 64 + 63 - (size_t)__builtin_clzll(marks[word]);
        if (n_marked == 1) {
            *ret_position = program->first + i;
            return 0;
        }
        marks[word] &= ~(UINT64_C(1) << (i % 64));
        i -= edge_bytes(program, program->edges[i]);
        n_marked -= marks[i / 64] >> (i % 64) & 1;
        marks[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

/* Runs the program until the paths meet or the text ends; returns where in *ret_end. */
static int run(struct program *program, size_t *ret_end) {
    size_t n = program->segment->row->n_bytes, position = program->first;
    size_t max_bytes = program->segment->trie->automaton.max_bytes;
    size_t n_window = WINDOW_BYTES + 4 * max_bytes;

    for (;; n_window *= 4) {
        size_t end = n_window < n - program->first ? program->first + n_window : n;
        size_t reach = max_bytes + 4 < n - end ? end + max_bytes + 4 : n;

        if (make_edges(program, reach) < 0 || expand_until(program, position, end) < 0)
            return -ENOMEM;
        *ret_end = end;
        if (end == n)
            return 0;
        if (find_meeting(program, end, ret_end) < 0)
            return -ENOMEM;
        if (*ret_end - program->first >= n_window / 2)
            return 0;
        position = end;
    }
}

/* Turns the edges of the best path to `end` around, so that each stands where it begins; returns
 * their number. */
static size_t turn_around(struct program *program, size_t end) {
    size_t i = end - program->first, n = 0;
    uint32_t edge = program->edges[i];

    for (; i > 0; n++) {
        uint32_t before;

        i -= edge_bytes(program, edge);
        before = program->edges[i];
        program->edges[i] = edge;
        edge = before;
    }
    return n;
}

static int emit(struct program *program, size_t end, double *cost) {
    const struct leat_chartrie *trie = program->segment->trie;
    size_t n = turn_around(program, end);

    if (leat_encoder_make_room(program->segment->encoder, n) < 0)
        return -ENOMEM;
    for (size_t i = program->first; i < end;) {
        uint32_t edge = program->edges[i - program->first];

        if (!(edge & UNKNOWN)) {
            leat_encoder_put(program->segment->encoder, trie->ids[edge]);
            *cost += trie->costs ? trie->costs[edge] : 1.0;
        } else if (!leat_segment_put_unknown(program->segment, i)) {
            break;
        }
        i += edge_bytes(program, edge);
    }
    return 0;
}

int leat_segment_best_path(struct leat_segment *segment, size_t *first, double *cost) {
    struct program program = {.segment = segment, .first = *first};

    if (make_ring(&program, *cost) < 0 || run(&program, first) < 0)
        return -ENOMEM;
    return emit(&program, *first, cost);
}
