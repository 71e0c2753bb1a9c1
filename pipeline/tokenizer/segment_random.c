/* segment_random.c: one segmentation, drawn by backward filtering and forward sampling.
 *
 * The edges that begin at position i are the tokens that begin there, from the longest to the
 * shortest, each with weight w = exp(-cost) (1 without costs), and last, if no token is exactly the
 * character at i, an unknown character with weight 1. Edges that end beyond the window do not
 * count.
 *
 * Backward, for i from the end e of the window down to its start s:
 *     unknown[e] = 0, mass[e] = 0.5, exponent[e] = 1 (that is 1.0)
 *     unknown[i] = the least of unknown[j] (+ 1 for the unknown character) over the edges i -> j
 *     of the edges at which that least occurs, x = the greatest exponent[j], and
 *     sum = the terms ldexp(w * mass[j], exponent[j] - x), added in the order of the edges
 *     mass[i], exponent[i] = frexp(sum), with x added to the exponent
 * where positions without an edge into the window have no values and are not counted as j.
 *
 * Forward, from i = s until e: r = unit() * sum, one draw for every step, with the sum of position
 * i; then the terms are added again in the same order, and the first edge at which what was added
 * is above r is taken (the last edge, should rounding leave none).
 *
 * The stream of numbers is that of proto/rng.h started at the row's key.
 *
 * A text of at most 65,536 bytes is one window. A longer one is cut, from s on, at the last
 * position within s + 1..s + 65536 that is reached from s and that no edge from a reached position
 * before it passes over; if there is none, at the last reached position within that range.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>

#include "pipeline/tokenizer/segment.h"
#include "pipeline/tokenizer/utf8.h"
#include "proto/rng.h"

#define WINDOW_BYTES 65536
#define NO_VALUE     UINT32_MAX

struct mass {
    double mass;
    int32_t exponent;
    uint32_t n_unknown; /* NO_VALUE: no way to the end of the window */
};

struct window {
    struct leat_segment *segment;
    size_t first, end;
    struct mass *masses; /* [position - first], of 0..end - first */
};

/* An edge of a position; next_edge() goes through them in order. */
struct edge {
    size_t position, end;
    uint32_t match; /* NO_MATCH: the unknown character */
    uint32_t next;  /* match that comes next */
    bool is_last;
};

static struct edge begin_edges(const struct window *window, size_t position) {
    const struct leat_segment *segment = window->segment;
    uint32_t state = segment->states[position - segment->first];

    return (struct edge){.position = position, .next = segment->trie->automaton.first_match[state]};
}

/* The next edge that ends inside the window; false when there is none. */
static bool next_edge(const struct window *window, struct edge *edge) {
    const struct leat_segment *segment = window->segment;
    const struct leat_automaton *automaton = &segment->trie->automaton;
    const struct leat_encoder_row *row = segment->row;
    uint32_t n_bytes;

    while (edge->next != LEAT_AUTOMATON_NO_MATCH) {
        edge->match = edge->next;
        edge->next = automaton->matches[edge->match].shorter;
        edge->end = edge->position + automaton->matches[edge->match].n_bytes;
        if (edge->end <= window->end)
            return true;
    }
    if (edge->is_last)
        return false;
    edge->is_last = true;
    edge->match = LEAT_AUTOMATON_NO_MATCH;
    n_bytes = leat_utf8_length(row->text + edge->position, row->n_bytes - edge->position);
    edge->end = edge->position + n_bytes;
    return edge->end <= window->end &&
           !(automaton->masks[segment->states[edge->position - segment->first]] >> (n_bytes - 1) &
             1);
}

static uint32_t n_unknown_by(const struct window *window, const struct edge *edge) {
    uint32_t n_unknown = window->masses[edge->end - window->first].n_unknown;

    return n_unknown == NO_VALUE ? NO_VALUE : n_unknown + (edge->match == LEAT_AUTOMATON_NO_MATCH);
}

/* ldexp(value, shift), shift <= 0; the same bits. */
static double scale(double value, int32_t shift) {
    return shift == 0 ? value : ldexp(value, shift);
}

static double term(const struct window *window, const struct edge *edge, int32_t exponent) {
    const struct mass *to = &window->masses[edge->end - window->first];
    const double *weights = window->segment->trie->weights;
    double weight = weights && edge->match != LEAT_AUTOMATON_NO_MATCH ? weights[edge->match] : 1.0;

    return scale(weight * to->mass, to->exponent - exponent);
}

/* The least number of unknown characters from there on, and the greatest exponent among its edges.
 */
static uint32_t survey(const struct window *window, size_t position, int32_t *ret_exponent) {
    struct edge edge = begin_edges(window, position);
    uint32_t least = NO_VALUE;

    *ret_exponent = INT_MIN;
    while (next_edge(window, &edge)) {
        uint32_t n_unknown = n_unknown_by(window, &edge);
        int32_t exponent = window->masses[edge.end - window->first].exponent;

        if (n_unknown == NO_VALUE || n_unknown > least)
            continue;
        if (n_unknown < least || exponent > *ret_exponent)
            *ret_exponent = exponent;
        least = n_unknown;
    }
    return least;
}

static double add_up(const struct window *window, size_t position, uint32_t least,
                     int32_t exponent) {
    struct edge edge = begin_edges(window, position);
    double sum = 0;

    while (next_edge(window, &edge))
        if (n_unknown_by(window, &edge) == least)
            sum += term(window, &edge, exponent);
    return sum;
}

static void filter(struct window *window) {
    size_t n = window->end - window->first;

    window->masses[n] = (struct mass){.mass = 0.5, .exponent = 1, .n_unknown = 0};
    for (size_t i = n; i-- > 0;) {
        struct mass *mass = &window->masses[i];
        int32_t exponent;
        int shift;

        mass->n_unknown = survey(window, window->first + i, &exponent);
        if (mass->n_unknown == NO_VALUE)
            continue;
        mass->mass = frexp(add_up(window, window->first + i, mass->n_unknown, exponent), &shift);
        mass->exponent = exponent + shift;
    }
}

/* Draws the edge that is taken from there. */
static struct edge draw(const struct window *window, size_t position, struct leat_rng *rng) {
    struct edge edge = begin_edges(window, position), taken = edge;
    int32_t exponent;
    uint32_t least = survey(window, position, &exponent);
    double r = leat_rng_unit(rng) * add_up(window, position, least, exponent), sum = 0;

    while (next_edge(window, &edge)) {
        if (n_unknown_by(window, &edge) != least)
            continue;
        taken = edge;
        sum += term(window, &edge, exponent);
        if (sum > r)
            break;
    }
    return taken;
}

static bool sample(const struct window *window, struct leat_rng *rng) {
    struct leat_segment *segment = window->segment;

    for (size_t position = window->first; position < window->end;) {
        struct edge edge = draw(window, position, rng);

        if (edge.match != LEAT_AUTOMATON_NO_MATCH)
            leat_encoder_put(segment->encoder, segment->trie->ids[edge.match]);
        else if (!leat_segment_put_unknown(segment, position))
            return false;
        position = edge.end;
    }
    return true;
}

/* Where a text that is longer than a window is cut. The masses serve as marks. */
static size_t find_cut(struct window *window) {
    size_t limit = window->end, farthest = window->first, safe = 0, reached = 0;
    struct window whole = *window;

    whole.end = window->segment->row->n_bytes;
    for (size_t i = 0; i <= limit - window->first; i++)
        window->masses[i].n_unknown = i == 0 ? 0 : NO_VALUE;
    for (size_t position = window->first; position <= limit; position++) {
        struct edge edge;

        if (window->masses[position - window->first].n_unknown == NO_VALUE)
            continue;
        reached = position;
        if (position > window->first && farthest == position)
            safe = position;
        if (position == limit)
            break;
        edge = begin_edges(&whole, position);
        while (next_edge(&whole, &edge)) {
            farthest = edge.end > farthest ? edge.end : farthest;
            if (edge.end <= limit)
                window->masses[edge.end - window->first].n_unknown = 0;
        }
    }
    return safe ? safe : reached;
}

static int encode_window(struct leat_segment *segment, size_t *first, struct leat_rng *rng) {
    struct leat_encoder *encoder = segment->encoder;
    size_t n = segment->row->n_bytes - *first;
    struct window window = {.segment = segment, .first = *first};

    n = n < WINDOW_BYTES ? n : WINDOW_BYTES;
    window.end = *first + n;
    if (leat_segment_load_window(segment, *first, n) < 0)
        return -ENOMEM;
    window.masses = leat_encoder_scratch(encoder, &encoder->path, (n + 1) * sizeof(struct mass));
    if (!window.masses || leat_encoder_make_room(encoder, n) < 0)
        return -ENOMEM;
    if (window.end < segment->row->n_bytes)
        window.end = find_cut(&window);
    filter(&window);
    (void)sample(&window, rng);
    *first = window.end;
    return 0;
}

int leat_segment_random(struct leat_segment *segment) {
    struct leat_rng rng = {.state = segment->row->key};
    size_t position = 0;

    while (position < segment->row->n_bytes && segment->row->unknown == LEAT_ENCODER_NO_UNKNOWN)
        if (encode_window(segment, &position, &rng) < 0)
            return -ENOMEM;
    return 0;
}
