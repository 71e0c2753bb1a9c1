#include "client/cli/bench/search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define GAIN        0.02 /* a smaller gain does not count */
#define MAX_VAIN    2    /* steps without gain before a direction is given up */
#define MAX_BETWEEN 6
#define FINE        8 /* values within an 8th of each other count as the same */

static size_t best_index(const struct leat_bench_search *search) {
    size_t best = 0;

    for (size_t i = 1; i < search->n_points; i++)
        if (search->points[i].score > search->points[best].score)
            best = i;
    return best;
}

static bool is_nearly_best(const struct leat_bench_search *search, size_t i) {
    double best = search->points[best_index(search)].score;

    return search->points[i].score >= best * (1 - LEAT_BENCH_NEARLY);
}

static size_t smallest_index(const struct leat_bench_search *search) {
    size_t i = best_index(search);

    while (i > 0 && is_nearly_best(search, i - 1))
        i--;
    return i;
}

const struct leat_bench_point *leat_bench_search_best(const struct leat_bench_search *search) {
    const struct leat_bench_point *best = &search->points[best_index(search)];

    return search->n_points > 0 && best->score > 0 ? best : NULL;
}

const struct leat_bench_point *leat_bench_search_smallest(const struct leat_bench_search *search) {
    return leat_bench_search_best(search) ? &search->points[smallest_index(search)] : NULL;
}

/* 1: the value is better than all before, 0: it is not; -ENOSPC: no more are tried; -errno. */
static int try_value(struct leat_bench_search *search, uint64_t value) {
    const struct leat_bench_point *best = leat_bench_search_best(search);
    double bar = best ? best->score * (1 + GAIN) : -1, score = 0;
    size_t i = search->n_points;
    int r;

    if (i == LEAT_BENCH_SEARCH_MAX)
        return -ENOSPC;
    r = search->measure(search->user, value, &score);
    if (r < 0)
        return r;
    for (; i > 0 && search->points[i - 1].value > value; i--)
        search->points[i] = search->points[i - 1];
    search->points[i] = (struct leat_bench_point){.value = value, .score = score > 0 ? score : 0};
    search->n_points++;
    return score > bar;
}

static int go_up(struct leat_bench_search *search, uint64_t value) {
    size_t size = sizeof(search->reason);

    for (unsigned n_vain = 0;;) {
        int r = try_value(search, value);

        if (r < 0)
            return r;
        n_vain = r ? 0 : n_vain + 1;
        if (search->points[search->n_points - 1].score <= 0)
            return snprintf(search->reason, size, "the stream refuses %" PRIu64, value);
        if (value == search->high)
            return snprintf(search->reason, size, "%" PRIu64 " is the limit", value);
        if (n_vain == MAX_VAIN)
            return snprintf(
                search->reason, size,
                "doubling the value gained less than %.0f %%; the last value was %" PRIu64,
                100 * GAIN, value);
        value = value > search->high / 2 ? search->high : value * 2;
    }
}

static int go_down(struct leat_bench_search *search) {
    int r = 0;

    while (r >= 0 && search->points[0].value > search->low &&
           (!leat_bench_search_best(search) || is_nearly_best(search, 0))) {
        uint64_t half = search->points[0].value / 2;

        r = try_value(search, half < search->low ? search->low : half);
    }
    return r;
}

/* Half way, by ratio: the root of low * high. */
static uint64_t find_middle(uint64_t low, uint64_t high) {
    uint64_t a = low, b = high;

    while (a < b && b - a > 1) {
        uint64_t m = a + (b - a) / 2;

        if ((unsigned __int128)m * m <= (unsigned __int128)low * high)
            a = m;
        else
            b = m;
    }
    return a > low ? a : low + (high - low) / 2;
}

static bool is_wide(uint64_t low, uint64_t high) {
    return high - low > 1 && high - low > high / FINE;
}

/* Tries values on that side of the best whose neighbour is farther away, by ratio. */
static int go_between(struct leat_bench_search *search) {
    unsigned n_vain = 0;
    int r = 0;

    for (int i = 0; r >= 0 && n_vain <= MAX_VAIN && i < MAX_BETWEEN; i++) {
        size_t best = best_index(search);
        uint64_t at = search->points[best].value;
        uint64_t below = best > 0 ? search->points[best - 1].value : at;
        uint64_t above = best + 1 < search->n_points ? search->points[best + 1].value : at;
        bool is_above = (unsigned __int128)above * below >= (unsigned __int128)at * at;

        if (is_wide(at, above) && (is_above || !is_wide(below, at)))
            r = try_value(search, find_middle(at, above));
        else if (is_wide(below, at))
            r = try_value(search, find_middle(below, at));
        else
            break;
        n_vain = r > 0 ? 0 : n_vain + 1;
    }
    return r;
}

static int go_smallest(struct leat_bench_search *search) {
    int r = 0;

    for (size_t i; r >= 0 && (i = smallest_index(search)) > 0;) {
        if (!is_wide(search->points[i - 1].value, search->points[i].value))
            break;
        r = try_value(search, find_middle(search->points[i - 1].value, search->points[i].value));
    }
    return r;
}

int leat_bench_search(struct leat_bench_search *search, uint64_t start) {
    int r = go_up(search, start < search->low    ? search->low
                          : start > search->high ? search->high
                                                 : start);

    if (r >= 0)
        r = go_down(search);
    if (r >= 0 && leat_bench_search_best(search))
        r = go_between(search);
    if (r >= 0 && leat_bench_search_best(search))
        r = go_smallest(search);
    if (r == -ENOSPC)
        (void)snprintf(search->reason, sizeof(search->reason), "it tried %d values",
                       LEAT_BENCH_SEARCH_MAX);
    return r == -ENOSPC || r > 0 ? 0 : r;
}
