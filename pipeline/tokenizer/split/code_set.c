#include "pipeline/tokenizer/split/code_set.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

void leat_code_set_deinit(struct leat_code_set *set) {
    free(set->ranges);
    *set = (struct leat_code_set){0};
}

static bool reserve(struct leat_code_set *set, uint32_t n_more) {
    bool is_there = leat_array_reserve(&set->ranges, set->n_ranges + n_more, &set->capacity);

    set->is_broken |= !is_there;
    return is_there;
}

void leat_code_set_add(struct leat_code_set *set, uint32_t first, uint32_t last) {
    if (!reserve(set, 1))
        return;
    set->ranges[set->n_ranges++] = (struct leat_code_range){first, last};
    set->is_sorted = false;
}

void leat_code_set_add_set(struct leat_code_set *set, const struct leat_code_set *other) {
    set->is_broken |= other->is_broken;
    if (other->n_ranges == 0 || !reserve(set, other->n_ranges))
        return;
    memcpy(set->ranges + set->n_ranges, other->ranges, other->n_ranges * sizeof(*other->ranges));
    set->n_ranges += other->n_ranges;
    set->is_sorted = false;
}

static int compare(const void *a, const void *b) {
    const struct leat_code_range *left = a, *right = b;

    return (left->first > right->first) - (left->first < right->first);
}

void leat_code_set_sort(struct leat_code_set *set) {
    uint32_t n = 0;

    if (set->is_sorted || set->n_ranges == 0)
        return;
    qsort(set->ranges, set->n_ranges, sizeof(*set->ranges), compare);
    for (uint32_t i = 1; i < set->n_ranges; i++) {
        struct leat_code_range range = set->ranges[i];
        if (range.first > set->ranges[n].last + 1)
            set->ranges[++n] = range;
        else if (range.last > set->ranges[n].last)
            set->ranges[n].last = range.last;
    }
    set->n_ranges = n + 1;
    set->is_sorted = true;
}

void leat_code_set_complement(struct leat_code_set *set) {
    uint32_t next = 0, n = 0;

    leat_code_set_sort(set);
    if (!reserve(set, 1))
        return;
    /* The gap before range i takes its place; at most one gap more than ranges. */
    for (uint32_t i = 0, n_ranges = set->n_ranges; i < n_ranges; i++) {
        struct leat_code_range range = set->ranges[i];
        if (range.first > next)
            set->ranges[n++] = (struct leat_code_range){next, range.first - 1};
        next = range.last + 1;
    }
    if (next <= LEAT_CODE_MAX)
        set->ranges[n++] = (struct leat_code_range){next, LEAT_CODE_MAX};
    set->n_ranges = n;
    set->is_sorted = true;
}

void leat_code_set_intersect(struct leat_code_set *set, struct leat_code_set *other) {
    leat_code_set_complement(set);
    leat_code_set_complement(other);
    leat_code_set_add_set(set, other);
    leat_code_set_complement(set);
    leat_code_set_complement(other);
}

bool leat_code_set_has(const struct leat_code_set *set, uint32_t code) {
    uint32_t low = 0, high = set->n_ranges;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (code > set->ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n_ranges && code >= set->ranges[low].first;
}

bool leat_code_set_equals(const struct leat_code_set *a, const struct leat_code_set *b) {
    return a->n_ranges == b->n_ranges &&
           (a->n_ranges == 0 ||
            memcmp(a->ranges, b->ranges, a->n_ranges * sizeof(*a->ranges)) == 0);
}
