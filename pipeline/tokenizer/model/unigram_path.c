/* unigram_path.c: Viterbi from left to right over a window of nodes, one for each byte. See
 * unigram_path.h.
 *
 * A word that fits the window is one pass. In a longer one, whenever the window is full, the best
 * paths to all places that can still be gone on from are traced back to where they meet; up to
 * there the path is final. Should they not meet in the last half of the window, it is doubled.
 */
#include "pipeline/tokenizer/model/unigram_path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CAPACITY 4096 /* nodes at first: 64 KB */

/* One word under way. Places are bytes from the start of the word; that of place p is
 * nodes[p - origin]. */
struct walk {
    const struct leat_unigram_plan *plan;
    struct leat_unigram_path *path;
    const uint8_t *word;
    uint32_t n_bytes;
    uint32_t origin;                     /* all best paths go through here */
    uint32_t at;                         /* paths to here are known */
    uint32_t reach;                      /* no path ends after here */
    uint32_t ready;                      /* nodes before here are set up */
    uint32_t unknown_start, unknown_end; /* that have not been given out */
    struct leat_unigram_sink *sink;
};

int leat_unigram_path_init(struct leat_unigram_path *path) {
    path->capacity = CAPACITY;
    path->nodes = malloc(path->capacity * sizeof(*path->nodes));
    return path->nodes ? 0 : -ENOMEM;
}

void leat_unigram_path_deinit(struct leat_unigram_path *path) {
    free(path->nodes);
    path->nodes = NULL;
}

static struct leat_unigram_node *node_at(const struct walk *walk, uint32_t place) {
    return &walk->path->nodes[place - walk->origin];
}

/* ---- giving out */

static inline void put(struct leat_unigram_sink *sink, int32_t id, uint32_t start, uint32_t end) {
    if (sink->tokens)
        sink->tokens[sink->n++] = (struct leat_token){.id = id, .range = {start, end}};
    else
        sink->ids[sink->n++] = id;
}

static bool has_bytes(const struct leat_unigram_plan *plan, const uint8_t *bytes, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (plan->byte_ids[bytes[i]] < 0)
            return false;
    return plan->has_byte_fallback;
}

static void put_unknown(struct walk *walk) {
    const struct leat_unigram_plan *plan = walk->plan;
    uint32_t start = walk->unknown_start, end = walk->unknown_end, n = end - start;
    const uint8_t *bytes = walk->word + start;
    int32_t id;

    if (n == 0)
        return;
    walk->unknown_start = end;
    id = leat_word_trie_find(&plan->trie, bytes, n);
    if (id < 0 && has_bytes(plan, bytes, n)) {
        for (uint32_t i = 0; i < n; i++)
            put(walk->sink, plan->byte_ids[bytes[i]], start, end);
        return;
    }
    put(walk->sink, id < 0 ? (int32_t)plan->unknown : id, start, end);
}

static void put_piece(struct walk *walk, uint32_t start, uint32_t end, uint32_t leaf) {
    int64_t id = leaf ? (int64_t)walk->plan->trie.ids[leaf] : walk->plan->unknown;

    if (id != walk->plan->unknown) {
        put_unknown(walk);
        put(walk->sink, (int32_t)id, start, end);
        return;
    }
    if (walk->unknown_start == walk->unknown_end)
        walk->unknown_start = start;
    walk->unknown_end = end;
}

/* Gives out the best path from the origin to that place. */
static void put_path(struct walk *walk, uint32_t end) {
    for (uint32_t place = end; place > walk->origin;) {
        uint32_t start = node_at(walk, place)->start;

        node_at(walk, start)->next = place;
        place = start;
    }
    for (uint32_t place = walk->origin; place < end;) {
        uint32_t next = node_at(walk, place)->next;

        put_piece(walk, place, next, node_at(walk, next)->leaf);
        place = next;
    }
}

/* ---- the window */

static void set_up(struct walk *walk) {
    uint64_t end = (uint64_t)walk->origin + walk->path->capacity;

    if (end > (uint64_t)walk->n_bytes + 1)
        end = (uint64_t)walk->n_bytes + 1;
    for (; walk->ready < end; walk->ready++)
        node_at(walk, walk->ready)->score = -INFINITY;
}

static int grow(struct walk *walk, size_t capacity) {
    struct leat_unigram_node *nodes;

    if (capacity > (size_t)walk->n_bytes + 1)
        capacity = (size_t)walk->n_bytes + 1;
    if (capacity <= walk->path->capacity)
        return 0;
    nodes = reallocarray(walk->path->nodes, capacity, sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    walk->path->nodes = nodes;
    walk->path->capacity = capacity;
    return 0;
}

/* Where the best paths to `at` and to all places after it meet. */
static uint32_t meeting(const struct walk *walk) {
    uint32_t meeting = walk->at;

    for (uint32_t place = walk->at + 1; place <= walk->reach; place++) {
        uint32_t other = place;

        if (node_at(walk, place)->score == -INFINITY)
            continue;
        while (other != meeting) {
            if (other > meeting)
                other = node_at(walk, other)->start;
            else
                meeting = node_at(walk, meeting)->start;
        }
    }
    return meeting;
}

/* Moves the origin forward as far as the path is final. */
static void advance(struct walk *walk) {
    uint32_t place = meeting(walk);

    put_path(walk, place);
    memmove(walk->path->nodes, node_at(walk, place),
            (walk->ready - place) * sizeof(*walk->path->nodes));
    walk->origin = place;
}

/* Makes room for all pieces from `at` on. */
static int make_room(struct walk *walk) {
    size_t capacity = walk->path->capacity, n_longest = walk->plan->trie.n_longest + 4;
    uint32_t origin = walk->origin;

    advance(walk);
    if (walk->origin - origin < capacity / 2 || capacity < 2 * n_longest)
        capacity = 2 * (capacity > n_longest ? capacity : n_longest);
    if (grow(walk, capacity) < 0)
        return -ENOMEM;
    set_up(walk);
    return 0;
}

/* Behind the last place from which all pieces end inside the window. */
static uint32_t limit_of(const struct walk *walk) {
    uint32_t n_ready = walk->ready - walk->origin, n_longest = walk->plan->trie.n_longest + 4;

    if (walk->ready > walk->n_bytes)
        return walk->n_bytes;
    return n_ready > n_longest ? walk->ready - n_longest : walk->origin;
}

/* ---- the best paths */

static uint32_t char_end(const struct walk *walk, uint32_t place) {
    uint8_t first = walk->word[place];
    uint32_t n = first < 0xc0 || walk->plan->is_byte_level ? 1
                 : first < 0xe0                            ? 2
                 : first < 0xf0                            ? 3
                                                           : 4;

    return place + n < walk->n_bytes ? place + n : walk->n_bytes;
}

static inline void offer(struct leat_unigram_node *node, double score, uint32_t start,
                         uint32_t leaf) {
    if (score > node->score) {
        node->score = score;
        node->start = start;
        node->leaf = leaf;
    }
}

/* Offers the paths that go on from `at`. False: the next character is unknown, and there is no
 * unk_id. */
static inline bool step(struct walk *walk) {
    const struct leat_unigram_plan *plan = walk->plan;
    struct leat_unigram_node *nodes = node_at(walk, walk->at);
    double score = nodes[0].score;
    uint32_t base = LEAT_WORD_TRIE_ROOT, at = walk->at, n_char = char_end(walk, at) - at;
    uint32_t n_max = walk->n_bytes - at, n_last = n_char, n_piece;
    const uint8_t *word = walk->word + at;
    bool is_char = false;

    for (uint32_t i = 0; i < n_max; i++) {
        uint32_t leaf = leat_word_trie_step(&plan->trie, base, word[i]);

        if (!leaf)
            break;
        base = plan->trie.nodes[leaf].base;
        if (!(base & (LEAT_WORD_TRIE_END | LEAT_WORD_TRIE_TAIL)))
            continue;
        n_piece = i + 1;
        if (base & LEAT_WORD_TRIE_TAIL) {
            n_piece += leat_word_trie_tail(&plan->trie, base, word + n_piece, n_max - n_piece);
            if (n_piece == i + 1)
                break;
        }
        offer(&nodes[n_piece], plan->scores[leaf] + score, at, leaf);
        is_char |= n_piece == n_char;
        n_last = n_piece;
        if (base & LEAT_WORD_TRIE_TAIL)
            break;
        base &= LEAT_WORD_TRIE_BASE;
    }
    if (!is_char) {
        double unknown = plan->unknown_score + score;

        if (plan->unknown < 0 && unknown > nodes[n_char].score)
            return false;
        offer(&nodes[n_char], unknown, at, 0);
    }
    if (at + n_last > walk->reach)
        walk->reach = at + n_last;
    walk->at = at + n_char;
    return true;
}

static int walk_on(struct walk *walk, struct leat_error *err) {
    uint32_t limit = limit_of(walk);

    while (walk->at < limit)
        if (!step(walk))
            return leat_error_set(
                err, -EINVAL,
                "the model has no piece for a character, and no unk_id to replace it");
    return 0;
}

int leat_unigram_path_encode(const struct leat_unigram_plan *plan, struct leat_unigram_path *path,
                             const uint8_t *word, uint32_t n_bytes, struct leat_unigram_sink *sink,
                             struct leat_error *err) {
    struct walk walk = {.plan = plan, .path = path, .word = word, .n_bytes = n_bytes, .sink = sink};
    int r;

    set_up(&walk);
    path->nodes[0].score = 0.0;
    r = walk_on(&walk, err);
    while (r == 0 && walk.at < n_bytes) {
        if (make_room(&walk) < 0)
            return leat_error_oom(err);
        r = walk_on(&walk, err);
    }
    if (r < 0)
        return r;
    put_path(&walk, n_bytes);
    put_unknown(&walk);
    return 0;
}
