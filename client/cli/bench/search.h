/* search.h: which whole number is best, in few questions. Pure: asks for values, is told how
 * good they are.
 *
 * First doubling up from the start and halving down, as long as it pays; then between the
 * neighbours of the best; last the smallest value that is nearly as good. It takes for granted that
 * what is measured has one hill: beyond the best it only falls, or stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_BENCH_SEARCH_MAX 32 /* values that are asked for */

#define LEAT_BENCH_GAIN   0.02 /* less is no gain */
#define LEAT_BENCH_NEARLY 0.05 /* below the best, and nearly as good */

struct leat_bench_point {
    uint64_t value;
    double score; /* more is better; 0: it was refused */
};

struct leat_bench_search {
    uint64_t low, high, start;
    enum {
        LEAT_BENCH_UP,
        LEAT_BENCH_DOWN,
        LEAT_BENCH_BETWEEN,
        LEAT_BENCH_SMALLEST,
        LEAT_BENCH_FOUND
    } phase;
    size_t n_points; /* sorted by value */
    struct leat_bench_point points[LEAT_BENCH_SEARCH_MAX];
    unsigned n_vain, n_between; /* steps without gain; steps between neighbours */
    char reason[160];           /* why it went no further */
};

void leat_bench_search_init(struct leat_bench_search *search, uint64_t low, uint64_t high,
                            uint64_t start);
/* The next value to measure; false: the search is over. */
bool leat_bench_search_next(struct leat_bench_search *search, uint64_t *ret_value);
/* How good it is, above 0; 0: the value is refused. */
void leat_bench_search_tell(struct leat_bench_search *search, uint64_t value, double score);

/* NULL: all were refused. */
const struct leat_bench_point *leat_bench_search_best(const struct leat_bench_search *search);
/* The smallest within LEAT_BENCH_NEARLY of the best. */
const struct leat_bench_point *leat_bench_search_smallest(const struct leat_bench_search *search);
