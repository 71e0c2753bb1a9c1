#include "pipeline/stages/pack/fit.h"

#include <stdlib.h>
#include <string.h>

#define NONE   UINT32_MAX
#define LEVELS 4 /* 64^4 amounts of room */

struct leat_fit {
    bool is_best;
    uint32_t length, n_max, n_rows;
    uint32_t *room; /* [n_max], of each row */

    /* first fit: tree[1] has the most room of all, tree[i] that of tree[2i] and tree[2i + 1] */
    uint32_t *tree;
    uint32_t n_leaves;

    /* best fit */
    uint32_t *top;          /* [length + 1]: row that was filled last of those with that room */
    uint32_t *below;        /* [n_max]: the row below in its stack */
    uint64_t *bits[LEVELS]; /* bits[0]: amounts of room that rows have; bits[k]: words in use */
};

static size_t n_words(uint32_t length, int level) {
    size_t n = (size_t)length + 1;

    for (int i = 0; i <= level; i++)
        n = (n + 63) / 64;
    return n;
}

static uint32_t n_leaves_for(uint32_t n_max) {
    uint32_t n = 1;

    while (n < n_max)
        n *= 2;
    return n;
}

uint64_t leat_fit_bytes(bool is_best, uint32_t length, uint32_t n_max) {
    uint64_t n = sizeof(struct leat_fit) + (uint64_t)n_max * sizeof(uint32_t);

    if (!is_best)
        return n + 2 * (uint64_t)n_leaves_for(n_max) * sizeof(uint32_t);
    for (int i = 0; i < LEVELS; i++)
        n += n_words(length, i) * sizeof(uint64_t);
    return n + ((uint64_t)length + 1 + n_max) * sizeof(uint32_t);
}

static bool make_best(struct leat_fit *fit) {
    bool is_made = true;

    fit->top = malloc(((size_t)fit->length + 1) * sizeof(*fit->top));
    fit->below = calloc(fit->n_max, sizeof(*fit->below));
    for (int i = 0; i < LEVELS; i++) {
        fit->bits[i] = calloc(n_words(fit->length, i), sizeof(*fit->bits[i]));
        is_made = is_made && fit->bits[i];
    }
    return is_made && fit->top && fit->below;
}

struct leat_fit *leat_fit_new(bool is_best, uint32_t length, uint32_t n_max) {
    struct leat_fit *fit = calloc(1, sizeof(*fit));
    bool is_made;

    if (!fit)
        return NULL;
    *fit = (struct leat_fit){.is_best = is_best, .length = length, .n_max = n_max};
    fit->room = calloc(n_max, sizeof(*fit->room));
    if (is_best) {
        is_made = make_best(fit);
    } else {
        fit->n_leaves = n_leaves_for(n_max);
        fit->tree = calloc(2 * (size_t)fit->n_leaves, sizeof(*fit->tree));
        is_made = fit->tree;
    }
    return is_made && fit->room ? fit : leat_fit_free(fit);
}

struct leat_fit *leat_fit_free(struct leat_fit *fit) {
    if (!fit)
        return NULL;
    free(fit->room);
    free(fit->tree);
    free(fit->top);
    free(fit->below);
    for (int i = 0; i < LEVELS; i++)
        free(fit->bits[i]);
    free(fit);
    return NULL;
}

/* ---- first fit ---- */

static void set_leaf(struct leat_fit *fit, uint32_t row, uint32_t room) {
    uint32_t at = fit->n_leaves + row;

    fit->tree[at] = room;
    for (at /= 2; at > 0; at /= 2) {
        uint32_t left = fit->tree[2 * at], right = fit->tree[2 * at + 1];

        fit->tree[at] = left > right ? left : right;
    }
}

static uint32_t find_first(const struct leat_fit *fit, uint32_t n) {
    uint32_t at = 1;

    if (fit->tree[1] < n)
        return NONE;
    while (at < fit->n_leaves)
        at = fit->tree[2 * at] >= n ? 2 * at : 2 * at + 1;
    return at - fit->n_leaves;
}

/* ---- best fit ---- */

static void set_bit(struct leat_fit *fit, uint32_t room) {
    for (int i = 0; i < LEVELS; i++, room /= 64)
        fit->bits[i][room / 64] |= UINT64_C(1) << room % 64;
}

static void clear_bit(struct leat_fit *fit, uint32_t room) {
    for (int i = 0; i < LEVELS; i++, room /= 64) {
        fit->bits[i][room / 64] &= ~(UINT64_C(1) << room % 64);
        if (fit->bits[i][room / 64])
            return;
    }
}

/* Finds the least room in use that is at least n: goes up until a word has such a bit, then down.
 */
static uint32_t least_room(const struct leat_fit *fit, uint32_t n) {
    uint32_t at = n;
    int level;

    for (level = 0; level < LEVELS; level++) {
        uint64_t word;

        if (at / 64 >= n_words(fit->length, level))
            return NONE;
        word = fit->bits[level][at / 64] >> at % 64;
        if (word) {
            at += (uint32_t)__builtin_ctzll(word);
            break;
        }
        at = at / 64 + 1;
    }
    if (level == LEVELS)
        return NONE;
    for (; level > 0; level--)
        at = at * 64 + (uint32_t)__builtin_ctzll(fit->bits[level - 1][at]);
    return at;
}

static uint32_t pop_best(struct leat_fit *fit, uint32_t n) {
    uint32_t room = least_room(fit, n), row;

    if (room == NONE)
        return NONE;
    row = fit->top[room];
    fit->top[room] = fit->below[row];
    if (fit->top[room] == NONE)
        clear_bit(fit, room);
    return row;
}

static void push_best(struct leat_fit *fit, uint32_t row, uint32_t room) {
    bool is_used = fit->bits[0][room / 64] >> room % 64 & 1;

    fit->below[row] = is_used ? fit->top[room] : NONE;
    fit->top[room] = row;
    set_bit(fit, room);
}

/* ---- both ---- */

uint32_t leat_fit_place(struct leat_fit *fit, uint32_t n) {
    uint32_t row = fit->is_best ? pop_best(fit, n) : find_first(fit, n);

    if (row == NONE) {
        row = fit->n_rows++;
        fit->room[row] = fit->length;
    }
    fit->room[row] -= n;
    if (fit->is_best)
        push_best(fit, row, fit->room[row]);
    else
        set_leaf(fit, row, fit->room[row]);
    return row;
}

uint32_t leat_fit_n_rows(const struct leat_fit *fit) {
    return fit->n_rows;
}

void leat_fit_reset(struct leat_fit *fit) {
    if (!fit->is_best)
        memset(fit->tree, 0, 2 * (size_t)fit->n_leaves * sizeof(*fit->tree));
    for (int i = 0; fit->is_best && i < LEVELS; i++)
        memset(fit->bits[i], 0, n_words(fit->length, i) * sizeof(*fit->bits[i]));
    fit->n_rows = 0;
}
