/* search.h: finds the best whole number in few measurements. Pure.
 *
 * The search doubles up from the start and halves down for as long as that pays, tries values
 * between the neighbours of the best, and last looks for the smallest value that is nearly as good.
 * It assumes one peak: beyond the best value, scores only fall or stay level.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LEAT_BENCH_SEARCH_MAX 32   /* values that are measured */
#define LEAT_BENCH_NEARLY     0.05 /* a value that much below the best is nearly as good */

struct leat_bench_point {
    uint64_t value;
    double score; /* more is better; 0: the value is refused */
};

struct leat_bench_search {
    /* Measures a value; each is asked for once. 0, or -errno, which ends the search. */
    int (*measure)(void *user, uint64_t value, double *ret_score);
    void *user;
    uint64_t low, high;
    size_t n_points;
    struct leat_bench_point points[LEAT_BENCH_SEARCH_MAX]; /* sorted by value */
    char reason[96];                                       /* why it went no further up */
};

/* Searches from low to high; measure, user, low and high are set. 0 or what measure() returned. */
int leat_bench_search(struct leat_bench_search *search, uint64_t start);

/* NULL: nothing was measured, or all values were refused. */
const struct leat_bench_point *leat_bench_search_best(const struct leat_bench_search *search);
/* The smallest value within LEAT_BENCH_NEARLY of the best, without a gap between the two. */
const struct leat_bench_point *leat_bench_search_smallest(const struct leat_bench_search *search);
