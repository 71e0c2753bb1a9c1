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
 * The stream of numbers is that of proto/base/rng.h started at the row's key.
 *
 * A text of at most 65,536 bytes is one window. A longer one is cut, from s on, at the last
 * position within s + 1..s + 65536 that is reached from s and that no edge from a reached position
 * before it passes over; if there is none, at the last reached position within that range.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/tokenizer/chartrie/chartrie_internal.h"
#include "proto/base/rng.h"
#include "proto/base/utf8.h"

#define WINDOW_BYTES 65536
#define NO_VALUE     UINT32_MAX

struct mass {
    double mass;
    int32_t exponent;
    uint32_t n_unknown; /* NO_VALUE: no way to the end of the window */
};

struct edge {
    size_t end;
    uint32_t match; /* 0: the unknown character */
    int32_t exponent;
    double mass; /* weight times that of the end; together with exponent one number */
};

struct window {
    struct leat_segment *segment;
    size_t first, end;
    struct mass *masses; /* [position - first], of 0..end - first */
    struct edge *edges;  /* of one position: those with the fewest unknown characters, in order */
    size_t n_edges;
    uint32_t n_unknown;   /* of these edges, to the end of the window; NO_VALUE: there are none */
    int32_t max_exponent; /* of these edges */
};

static void add_edge(struct window *window, size_t end, uint32_t match, double weight) {
    const struct mass *to = &window->masses[end - window->first];
    uint32_t n_unknown = to->n_unknown + (match == 0);

    if (to->n_unknown == NO_VALUE || n_unknown > window->n_unknown)
        return;
    if (n_unknown < window->n_unknown) {
        window->n_unknown = n_unknown;
        window->n_edges = 0;
        window->max_exponent = to->exponent;
    }
    if (to->exponent > window->max_exponent)
        window->max_exponent = to->exponent;
    window->edges[window->n_edges++] = (struct edge){
        .end = end, .match = match, .exponent = to->exponent, .mass = weight * to->mass};
}

/* The bytes of the unknown character there, or 0 if a token is exactly that character. */
static uint32_t unknown_bytes(const struct leat_segment *segment, size_t position) {
    const struct leat_encoder_row *row = segment->row;
    uint32_t n_bytes = leat_utf8_length(row->text + position, row->n_bytes - position);
    uint32_t match = segment->matches[position - segment->first];

    return segment->trie->automaton.masks[match] >> (n_bytes - 1) & 1 ? 0 : n_bytes;
}

/* Finds the edges of a position. */
static void collect(struct window *window, size_t position) {
    const struct leat_segment *segment = window->segment;
    const struct leat_automaton_match *matches = segment->trie->automaton.matches;
    const double *weights = segment->trie->weights;
    uint32_t n_bytes;

    window->n_edges = 0;
    window->n_unknown = NO_VALUE;
    for (uint32_t match = segment->matches[position - segment->first]; match;
         match = matches[match].shorter)
        if (position + matches[match].n_bytes <= window->end)
            add_edge(window, position + matches[match].n_bytes, match,
                     weights ? weights[match] : 1.0);
    n_bytes = unknown_bytes(segment, position);
    if (n_bytes && position + n_bytes <= window->end)
        add_edge(window, position + n_bytes, 0, 1.0);
}

/* ldexp(value, shift) for shift <= 0: a product with a power of two rounds in the same way. */
static double scale(double value, int32_t shift) {
    uint64_t bits = (uint64_t)(1023 + (int64_t)shift) << 52;
    double power;

    if (shift < -1022)
        return ldexp(value, shift);
    memcpy(&power, &bits, sizeof(power));
    return value * power;
}

static double term(const struct window *window, size_t i) {
    return scale(window->edges[i].mass, window->edges[i].exponent - window->max_exponent);
}

static double add_up(const struct window *window) {
    double sum = 0;

    for (size_t i = 0; i < window->n_edges; i++)
        sum += term(window, i);
    return sum;
}

static void filter(struct window *window) {
    size_t n = window->end - window->first;

    window->masses[n] = (struct mass){.mass = 0.5, .exponent = 1, .n_unknown = 0};
    for (size_t i = n; i-- > 0;) {
        struct mass *mass = &window->masses[i];
        int shift;

        collect(window, window->first + i);
        mass->n_unknown = window->n_unknown;
        if (mass->n_unknown == NO_VALUE)
            continue;
        mass->mass = frexp(add_up(window), &shift);
        mass->exponent = window->max_exponent + shift;
    }
}

/* Draws one of the edges of a position. */
static const struct edge *draw(struct window *window, size_t position, struct leat_rng *rng) {
    double r, sum = 0;

    collect(window, position);
    r = leat_rng_unit(rng) * add_up(window);
    for (size_t i = 0; i < window->n_edges; i++) {
        sum += term(window, i);
        if (sum > r)
            return &window->edges[i];
    }
    return &window->edges[window->n_edges - 1];
}

static bool sample(struct window *window, struct leat_rng *rng) {
    struct leat_segment *segment = window->segment;

    for (size_t position = window->first; position < window->end;) {
        const struct edge *edge = draw(window, position, rng);

        if (edge->match)
            leat_encoder_put(segment->encoder, segment->trie->ids[edge->match]);
        else if (!leat_segment_put_unknown(segment, position))
            return false;
        position = edge->end;
    }
    return true;
}

/* The farthest end of an edge of a position; marks all ends up to `limit` as reached. */
static size_t reach(struct window *window, size_t position, size_t limit) {
    const struct leat_segment *segment = window->segment;
    const struct leat_automaton_match *matches = segment->trie->automaton.matches;
    uint32_t longest = segment->matches[position - segment->first];
    size_t end = position + unknown_bytes(segment, position), farthest = end;

    if (end > position && end <= limit)
        window->masses[end - window->first].n_unknown = 0;
    for (uint32_t match = longest; match; match = matches[match].shorter) {
        end = position + matches[match].n_bytes;
        farthest = end > farthest ? end : farthest;
        if (end <= limit)
            window->masses[end - window->first].n_unknown = 0;
    }
    return farthest;
}

/* Where a text that is longer than a window is cut. The masses serve as marks. */
static size_t find_cut(struct window *window) {
    size_t limit = window->end, farthest = window->first, safe = 0, last = 0;

    for (size_t i = 0; i <= limit - window->first; i++)
        window->masses[i].n_unknown = i == 0 ? 0 : NO_VALUE;
    for (size_t position = window->first; position <= limit; position++) {
        size_t end;

        if (window->masses[position - window->first].n_unknown == NO_VALUE)
            continue;
        last = position;
        if (position > window->first && farthest == position)
            safe = position;
        if (position == limit)
            break;
        end = reach(window, position, limit);
        farthest = end > farthest ? end : farthest;
    }
    return safe ? safe : last;
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
    window.edges = leat_encoder_scratch(encoder, &encoder->costs,
                                        (segment->trie->automaton.max_bytes + 1) *
                                            sizeof(struct edge)); /* one for each length */
    if (!window.masses || !window.edges || leat_encoder_make_room(encoder, n) < 0)
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
