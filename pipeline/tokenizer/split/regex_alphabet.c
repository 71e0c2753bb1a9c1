/* regex_alphabet.c: see regex_alphabet.h. The ends of all ranges, sorted, cut the code points into
 * stretches; within a stretch no set begins or ends. */
#include "pipeline/tokenizer/split/regex_alphabet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/unicode/unicode.h"
#include "proto/base/array.h"

struct edge {
    uint32_t code; /* the set begins or ends before it */
    uint32_t set;
};

static int compare(const void *a, const void *b) {
    const struct edge *left = a, *right = b;

    return (left->code > right->code) - (left->code < right->code);
}

static struct edge *collect(const struct leat_regex_tree *tree, size_t *ret_n) {
    struct edge *edges;
    size_t n = 0;

    for (uint32_t i = 0; i < tree->n_sets; i++)
        n += 2 * (size_t)tree->sets[i].n_ranges;
    edges = malloc((n + 1) * sizeof(*edges));
    if (!edges)
        return NULL;
    n = 0;
    for (uint32_t i = 0; i < tree->n_sets; i++)
        for (uint32_t k = 0; k < tree->sets[i].n_ranges; k++) {
            edges[n++] = (struct edge){tree->sets[i].ranges[k].first, i};
            edges[n++] = (struct edge){tree->sets[i].ranges[k].last + 1, i};
        }
    edges[n] = (struct edge){LEAT_CODE_MAX + 1, 0};
    qsort(edges, n, sizeof(*edges), compare);
    *ret_n = n;
    return edges;
}

/* The letter of the characters in just these sets; -1: there are too many. */
static int letter_of(struct leat_regex_alphabet *alphabet, const uint64_t *members) {
    uint32_t n = alphabet->n_letters;

    for (uint32_t i = 0; i < n; i++)
        if (memcmp(alphabet->members[i], members, sizeof(alphabet->members[i])) == 0)
            return (int)i;
    if (n == LEAT_REGEX_LETTERS_MAX)
        return -1;
    memcpy(alphabet->members[n], members, sizeof(alphabet->members[n]));
    alphabet->n_letters++;
    return (int)n;
}

static int put_block(struct leat_regex_alphabet *alphabet, uint32_t number, const uint8_t *block) {
    uint32_t i = alphabet->n_blocks;

    while (i > 0 && memcmp(alphabet->blocks[i - 1], block, LEAT_REGEX_BLOCK_CODES) != 0)
        i--;
    if (i > 0) {
        alphabet->block_of[number] = (uint16_t)(i - 1);
        return 0;
    }
    if (!leat_array_reserve(&alphabet->blocks, alphabet->n_blocks + 1, &alphabet->blocks_capacity))
        return -ENOMEM;
    memcpy(alphabet->blocks[alphabet->n_blocks], block, LEAT_REGEX_BLOCK_CODES);
    alphabet->block_of[number] = (uint16_t)alphabet->n_blocks++;
    return 0;
}

/* A walk through all stretches. */
struct walk {
    const struct edge *edges;
    size_t n_edges, at;
    uint64_t members[LEAT_REGEX_SETS_MAX / 64];
    int letter; /* of the stretch; -1: there are too many */
};

/* Crosses the edges at a code point. */
static void cross(struct leat_regex_alphabet *alphabet, struct walk *walk, uint32_t code) {
    for (; walk->at < walk->n_edges && walk->edges[walk->at].code == code; walk->at++) {
        uint32_t set = walk->edges[walk->at].set;
        walk->members[set / 64] ^= UINT64_C(1) << (set % 64);
    }
    walk->letter = letter_of(alphabet, walk->members);
}

/* Writes the letters of the block from `code` on; returns whether they are all those of the stretch
 * that goes on into the block. */
static bool fill_block(struct leat_regex_alphabet *alphabet, struct walk *walk, uint32_t code,
                       uint8_t *block) {
    uint32_t n = 0;

    if (walk->edges[walk->at].code >= code + LEAT_REGEX_BLOCK_CODES) {
        memset(block, walk->letter, LEAT_REGEX_BLOCK_CODES);
        return true;
    }
    for (; n < LEAT_REGEX_BLOCK_CODES && walk->letter >= 0; n++) {
        if (walk->edges[walk->at].code == code + n)
            cross(alphabet, walk, code + n);
        block[n] = (uint8_t)walk->letter;
    }
    return false;
}

static int fill(struct leat_regex_alphabet *alphabet, const struct edge *edges, size_t n_edges,
                struct leat_error *err) {
    struct walk walk = {.edges = edges, .n_edges = n_edges};
    uint8_t block[LEAT_REGEX_BLOCK_CODES];
    bool is_plain = false, was_plain;

    cross(alphabet, &walk, 0);
    for (uint32_t i = 0; i < LEAT_REGEX_ALPHABET_SIZE && walk.letter >= 0; i++) {
        was_plain = is_plain;
        is_plain = fill_block(alphabet, &walk, i * LEAT_REGEX_BLOCK_CODES, block);
        if (is_plain && was_plain)
            alphabet->block_of[i] = alphabet->block_of[i - 1];
        else if (put_block(alphabet, i, block) < 0)
            return leat_error_oom(err);
    }
    if (walk.letter < 0)
        return leat_error_set(err, -EINVAL,
                              "the regex distinguishes more than %d kinds of characters",
                              LEAT_REGEX_LETTERS_MAX);
    return 0;
}

int leat_regex_alphabet_init(struct leat_regex_alphabet *alphabet,
                             const struct leat_regex_tree *tree, struct leat_error *err) {
    struct edge *edges;
    size_t n_edges = 0;
    int r;

    *alphabet = (struct leat_regex_alphabet){0};
    edges = collect(tree, &n_edges);
    if (!edges)
        return leat_error_oom(err);
    r = fill(alphabet, edges, n_edges, err);
    free(edges);
    return r;
}

void leat_regex_alphabet_deinit(struct leat_regex_alphabet *alphabet) {
    free(alphabet->blocks);
    alphabet->blocks = NULL;
}

static uint8_t letter_at(const struct leat_regex_alphabet *alphabet, uint32_t code) {
    return alphabet
        ->blocks[alphabet->block_of[code / LEAT_REGEX_BLOCK_CODES]][code % LEAT_REGEX_BLOCK_CODES];
}

uint32_t leat_regex_alphabet_spell(const struct leat_regex_alphabet *alphabet, const uint8_t *text,
                                   uint32_t n_bytes, uint8_t *letters) {
    const uint8_t *ascii = alphabet->blocks[alphabet->block_of[0]];
    uint8_t *out = letters;

    for (uint32_t at = 0, n; at < n_bytes; at += n) {
        uint32_t code = leat_unicode_decode(text + at, &n);

        *out++ = code < 0x80 ? ascii[code] : letter_at(alphabet, code);
    }
    return (uint32_t)(out - letters);
}
