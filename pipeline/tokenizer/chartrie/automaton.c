/* automaton.c: see automaton.h. Failure links are made breadth first.
 *
 * While links are made, a node without children has base 0, which no node uses, so that it has no
 * transitions; in the end it gets the base of the nearest state along its failure links that has
 * children. The children that the root lacks become states too, which stand for the root.
 *
 * Scanning is the hot loop: one step is a dependent chain of some ten cycles that does little else.
 * So N_LANES pieces of text are scanned at a time, each by steps without branches: a step either
 * consumes a byte or goes to the failure state. All lanes take as many steps as the shortest rest
 * has bytes, then those that are done get the next piece. A long piece that comes alone is split
 * into N_LANES.
 */
#include "pipeline/tokenizer/chartrie/automaton.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE LEAT_DOUBLE_ARRAY_NONE
#define ROOT LEAT_DOUBLE_ARRAY_ROOT

#define N_LANES         4
#define SPLIT_BYTES_MIN 1024

struct linker {
    struct leat_automaton *automaton;
    struct leat_double_array array;
    uint32_t *index_of; /* node -> index into the array's order */
    uint32_t *fails;    /* by that index: an index, NONE for the root */
};

static uint32_t base_of(const struct linker *linker, uint32_t index) {
    return index == NONE ? ROOT : linker->array.nodes[linker->array.order[index]].base;
}

/* The longest proper suffix of the node's bytes that is a node: an index, NONE for the root. */
static uint32_t find_fail(const struct linker *linker, uint32_t index) {
    const struct leat_double_array *array = &linker->array;
    uint32_t state = array->parents[index];
    uint32_t label = array->order[index] ^ base_of(linker, state);

    while (state != NONE) {
        uint32_t base, child;

        state = linker->fails[state];
        base = base_of(linker, state);
        child = base ^ label;
        if (array->nodes[child].check == base)
            return linker->index_of[child];
    }
    return NONE;
}

static uint64_t length_bit(uint32_t n_bytes) {
    return n_bytes >= 64 ? LEAT_AUTOMATON_MASK_LONG : UINT64_C(1) << (n_bytes - 1);
}

static void link_node(struct linker *linker, uint32_t index) {
    struct leat_automaton *automaton = linker->automaton;
    uint32_t node = linker->array.order[index], key = linker->array.values[node];
    uint32_t fail = linker->fails[index] = find_fail(linker, index);
    uint32_t shorter = fail == NONE ? 0 : automaton->longest[linker->array.order[fail]];

    automaton->longest[node] = shorter;
    if (key == NONE)
        return;
    automaton->longest[node] = key + 1;
    automaton->matches[key + 1].shorter = shorter;
    automaton->masks[key + 1] =
        automaton->masks[shorter] | length_bit(automaton->matches[key + 1].n_bytes);
}

/* Takes the array's nodes and gives every state its base and every base its failure. */
static void finish(struct linker *linker) {
    struct leat_automaton *automaton = linker->automaton;
    struct leat_double_array *array = &linker->array;

    automaton->fails[ROOT] = ROOT;
    for (uint32_t i = 0; i < array->n_order; i++) {
        struct leat_double_array_node *node = &array->nodes[array->order[i]];
        uint32_t fail_base = base_of(linker, linker->fails[i]);

        if (node->base == 0)
            node->base = fail_base;
        else
            automaton->fails[node->base] = fail_base;
    }
    for (uint32_t node = ROOT; node < ROOT + 256; node++)
        if (array->nodes[node].check == NONE)
            array->nodes[node] = (struct leat_double_array_node){.base = ROOT, .check = ROOT};
    automaton->nodes = array->nodes;
    array->nodes = NULL;
}

static int allocate(struct leat_automaton *automaton, uint32_t n_nodes, size_t n_keys) {
    automaton->fails = calloc(n_nodes, sizeof(*automaton->fails));
    automaton->longest = calloc(n_nodes, sizeof(*automaton->longest));
    automaton->matches = calloc(n_keys + 1, sizeof(*automaton->matches));
    automaton->masks = calloc(n_keys + 1, sizeof(*automaton->masks));
    return automaton->fails && automaton->longest && automaton->matches && automaton->masks ? 0
                                                                                            : -1;
}

static int link_all(struct linker *linker, const struct leat_automaton_key *keys, size_t n_keys,
                    struct leat_error *err) {
    struct leat_automaton *automaton = linker->automaton;

    linker->index_of = malloc(linker->array.n_nodes * sizeof(*linker->index_of));
    linker->fails = malloc(linker->array.n_nodes * sizeof(*linker->fails));
    if (!linker->index_of || !linker->fails ||
        allocate(automaton, linker->array.n_nodes, n_keys) < 0)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_keys; i++) {
        automaton->matches[i + 1].n_bytes = keys[i].n_bytes;
        if (keys[i].n_bytes > automaton->max_bytes)
            automaton->max_bytes = keys[i].n_bytes;
    }
    for (uint32_t i = 0; i < linker->array.n_order; i++)
        linker->index_of[linker->array.order[i]] = i;
    for (uint32_t i = 0; i < linker->array.n_order; i++)
        link_node(linker, i);
    finish(linker);
    return 0;
}

static int compare_keys(const void *a, const void *b) {
    return leat_double_array_compare(a, b);
}

/* The keys with their bytes reversed, sorted; *ret_bytes holds the bytes. */
static struct leat_double_array_key *reverse(const struct leat_automaton_key *keys, size_t n_keys,
                                             uint8_t **ret_bytes) {
    struct leat_double_array_key *reversed = calloc(n_keys, sizeof(*reversed));
    size_t n_bytes = 0;
    uint8_t *at;

    for (size_t i = 0; i < n_keys; i++)
        n_bytes += keys[i].n_bytes;
    at = *ret_bytes = malloc(n_bytes ? n_bytes : 1);
    if (!reversed || !at) {
        free(reversed);
        return NULL;
    }
    for (size_t i = 0; i < n_keys; i++) {
        reversed[i] = (struct leat_double_array_key){
            .bytes = at, .n_bytes = keys[i].n_bytes, .value = (uint32_t)i};
        for (uint32_t k = keys[i].n_bytes; k > 0; k--)
            *at++ = keys[i].bytes[k - 1];
    }
    qsort(reversed, n_keys, sizeof(*reversed), compare_keys);
    return reversed;
}

int leat_automaton_build(struct leat_automaton *automaton, const struct leat_automaton_key *keys,
                         size_t n_keys, struct leat_error *err) {
    struct linker linker = {.automaton = automaton};
    struct leat_double_array_key *reversed;
    uint8_t *bytes = NULL;
    int r;

    *automaton = (struct leat_automaton){.nodes = NULL};
    reversed = reverse(keys, n_keys, &bytes);
    r = reversed ? leat_double_array_build(&linker.array, reversed, n_keys, err)
                 : leat_error_oom(err);
    free(reversed);
    free(bytes);
    if (r == 0)
        r = link_all(&linker, keys, n_keys, err);
    leat_double_array_deinit(&linker.array);
    free(linker.index_of);
    free(linker.fails);
    if (r < 0)
        leat_automaton_deinit(automaton);
    return r;
}

void leat_automaton_deinit(struct leat_automaton *automaton) {
    free(automaton->nodes);
    free(automaton->fails);
    free(automaton->masks);
    free(automaton->longest);
    free(automaton->matches);
    *automaton = (struct leat_automaton){.nodes = NULL};
}

/* ---- scanning */

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

/* The state of the automaton after the bytes that follow the piece. */
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

static void finish_lane(struct lane lane, const struct leat_automaton *automaton) {
    while (lane.end > lane.start)
        step(&lane, automaton->nodes, automaton->fails, automaton->longest);
}

void leat_automaton_scan_piece(const struct leat_automaton *automaton, const uint8_t *text,
                               size_t n_bytes, uint32_t *matches) {
    const struct lane lane = {.base = LEAT_DOUBLE_ARRAY_ROOT,
                              .end = text + n_bytes,
                              .start = text,
                              .matches = (uintptr_t)matches - sizeof(uint32_t) * (uintptr_t)text};

    finish_lane(lane, automaton);
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
        finish_lane(lanes[i], automaton);
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
