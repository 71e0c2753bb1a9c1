/* automaton_scan.c: the hot loop of the tokenizer.
 *
 * One step is a dependent chain of some ten cycles that does little else, so N_LANES pieces of text
 * are scanned at a time, each by steps without branches: a step either consumes a byte or goes to
 * the failure state. All lanes take as many steps as the shortest rest has bytes, then those that
 * are done get the next piece. A long piece that comes alone is split into N_LANES.
 */
#include "pipeline/tokenizer/automaton.h"

#define N_LANES         4
#define SPLIT_BYTES_MIN 1024

/* The position before which a lane stands is counted by one pointer alone, so that all lanes fit
 * into registers: the match of the byte at `text` goes to address 4 * text + matches. */
struct lane {
    uint32_t base;
    const uint8_t *end; /* of the bytes that are left */
    const uint8_t *start;
    uintptr_t matches;
};

static inline __attribute__((always_inline)) void step(struct lane *lane,
                                                       const struct leat_double_array_node *nodes,
                                                       const uint32_t *fails,
                                                       const uint32_t *longest) {
    uint32_t state = lane->base ^ lane->end[-1];
    struct leat_double_array_node node = nodes[state];
    uint32_t fail = fails[lane->base];
    bool is_child = node.check == lane->base;

    /* written again after a failure */
    *(uint32_t *)(lane->matches + sizeof(uint32_t) * (uintptr_t)(lane->end - 1)) = longest[state];
    lane->base = is_child ? node.base : fail;
    lane->end -= is_child;
}

/* Where the automaton stands after the bytes behind the piece. */
static uint32_t look_ahead(const struct leat_automaton *automaton,
                           const struct leat_automaton_scan *scan) {
    uint32_t base = LEAT_DOUBLE_ARRAY_ROOT;

    for (size_t i = scan->n_ahead; i > 0;) {
        struct leat_double_array_node node =
            automaton->nodes[base ^ scan->text[scan->n_bytes + i - 1]];
        bool is_child = node.check == base;

        base = is_child ? node.base : automaton->fails[base];
        i -= is_child;
    }
    return base;
}

static bool refill(struct lane *lane, const struct leat_automaton *automaton,
                   const struct leat_automaton_scan *scans, size_t n_scans, size_t *next) {
    while (lane->end == lane->start && *next < n_scans) {
        const struct leat_automaton_scan *scan = &scans[(*next)++];

        *lane = (struct lane){.base = look_ahead(automaton, scan),
                              .end = scan->text + scan->n_bytes,
                              .start = scan->text,
                              .matches = (uintptr_t)scan->matches -
                                         sizeof(uint32_t) * (uintptr_t)scan->text};
    }
    return lane->end > lane->start;
}

static size_t least_left(const struct lane *lanes) {
    size_t least = (size_t)(lanes[0].end - lanes[0].start);

    for (int i = 1; i < N_LANES; i++) {
        size_t n = (size_t)(lanes[i].end - lanes[i].start);

        least = n < least ? n : least;
    }
    return least;
}

static void advance(struct lane lanes[N_LANES], const struct leat_automaton *automaton) {
    const struct leat_double_array_node *nodes = automaton->nodes;
    const uint32_t *fails = automaton->fails, *longest = automaton->longest;
    struct lane a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];

    for (size_t n = least_left(lanes); n > 0; n--) {
        step(&a, nodes, fails, longest);
        step(&b, nodes, fails, longest);
        step(&c, nodes, fails, longest);
        step(&d, nodes, fails, longest);
    }
    lanes[0] = a;
    lanes[1] = b;
    lanes[2] = c;
    lanes[3] = d;
}

static void finish(struct lane lane, const struct leat_automaton *automaton) {
    while (lane.end > lane.start)
        step(&lane, automaton->nodes, automaton->fails, automaton->longest);
}

static void scan_all(const struct leat_automaton *automaton,
                     const struct leat_automaton_scan *scans, size_t n_scans) {
    struct lane lanes[N_LANES] = {0};
    bool is_full = true;
    size_t next = 0;

    for (;;) {
        for (int i = 0; i < N_LANES; i++)
            is_full &= refill(&lanes[i], automaton, scans, n_scans, &next);
        if (!is_full)
            break;
        advance(lanes, automaton);
    }
    for (int i = 0; i < N_LANES; i++)
        finish(lanes[i], automaton);
}

static void scan_split(const struct leat_automaton *automaton,
                       const struct leat_automaton_scan *scan) {
    struct leat_automaton_scan parts[N_LANES];
    size_t n_bytes = scan->n_bytes / N_LANES, n_all = scan->n_bytes + scan->n_ahead;

    for (size_t i = 0; i < N_LANES; i++) {
        size_t first = i * n_bytes, end = i + 1 < N_LANES ? first + n_bytes : scan->n_bytes;
        size_t n_ahead = n_all - end;

        parts[i] = (struct leat_automaton_scan){
            .text = scan->text + first,
            .n_bytes = end - first,
            .n_ahead = n_ahead < automaton->max_bytes ? n_ahead : automaton->max_bytes,
            .matches = scan->matches + first};
    }
    scan_all(automaton, parts, N_LANES);
}

void leat_automaton_scan(const struct leat_automaton *automaton,
                         const struct leat_automaton_scan *scans, size_t n_scans) {
    if (n_scans == 1 && scans->n_bytes >= SPLIT_BYTES_MIN &&
        scans->n_bytes / 8 >= automaton->max_bytes)
        scan_split(automaton, scans);
    else
        scan_all(automaton, scans, n_scans);
}
