/* search.c: see search.h. Each phase looks at the points that are there and says which
 * value it wants next, or that it is through. */
#include "client/cli/bench/search.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_VAIN    2 /* steps without gain before a direction is given up */
#define MAX_BETWEEN 6
#define FINE        8 /* values nearer than an 8th of each other count as the same */

void leat_bench_search_init(struct leat_bench_search *search, uint64_t low, uint64_t high,
                            uint64_t start) {
    *search = (struct leat_bench_search){
        .low = low,
        .high = high,
        .start = start < low    ? low
                 : start > high ? high
                                : start,
    };
}

static size_t best_index(const struct leat_bench_search *search) {
    size_t best = 0;

    for (size_t i = 1; i < search->n_points; i++)
        if (search->points[i].score > search->points[best].score)
            best = i;
    return best;
}

const struct leat_bench_point *leat_bench_search_best(const struct leat_bench_search *search) {
    const struct leat_bench_point *best = &search->points[best_index(search)];

    return search->n_points > 0 && best->score > 0 ? best : NULL;
}

static bool is_nearly_best(const struct leat_bench_search *search, size_t i) {
    return search->points[i].score >=
           search->points[best_index(search)].score * (1 - LEAT_BENCH_NEARLY);
}

/* Of the points from the best downwards without a gap, so that a lucky one far below is not taken.
 */
static size_t smallest_index(const struct leat_bench_search *search) {
    size_t i = best_index(search);

    while (i > 0 && is_nearly_best(search, i - 1))
        i--;
    return i;
}

const struct leat_bench_point *leat_bench_search_smallest(const struct leat_bench_search *search) {
    return leat_bench_search_best(search) ? &search->points[smallest_index(search)] : NULL;
}

static bool is_known(const struct leat_bench_search *search, uint64_t value) {
    for (size_t i = 0; i < search->n_points; i++)
        if (search->points[i].value == value)
            return true;
    return false;
}

static void go_to(struct leat_bench_search *search, unsigned phase) {
    search->phase = phase;
    search->n_vain = 0;
}

__attribute__((format(printf, 2, 3))) static void explain(struct leat_bench_search *search,
                                                          const char *format, ...) {
    size_t n = strlen(search->reason);
    va_list ap;

    if (n > 0)
        n += (size_t)snprintf(search->reason + n, sizeof(search->reason) - n, "; ");
    if (n >= sizeof(search->reason))
        return;
    va_start(ap, format);
    (void)vsnprintf(search->reason + n, sizeof(search->reason) - n, format, ap);
    va_end(ap);
}

/* ---- the phases: true and a value, or false ---- */

static bool step_up(struct leat_bench_search *search, uint64_t *ret_value) {
    const struct leat_bench_point *last;

    if (search->n_points == 0) {
        *ret_value = search->start;
        return true;
    }
    last = &search->points[search->n_points - 1];
    if (last->score <= 0)
        explain(search, "%" PRIu64 " is refused", last->value);
    else if (last->value == search->high)
        explain(search, "%" PRIu64 " is the most that is allowed", search->high);
    else if (search->n_vain >= MAX_VAIN)
        explain(search, "doubling gained less than %.0f %% up to %" PRIu64, 100 * LEAT_BENCH_GAIN,
                last->value);
    else {
        *ret_value = last->value > search->high / 2 ? search->high : last->value * 2;
        return true;
    }
    return false;
}

static bool step_down(struct leat_bench_search *search, uint64_t *ret_value) {
    const struct leat_bench_point *first = &search->points[0];
    uint64_t half = first->value / 2;

    if (first->value == search->low)
        return false;
    if (first->score > 0 && !is_nearly_best(search, 0)) {
        explain(search, "%" PRIu64 " is worse", first->value);
        return false;
    }
    *ret_value = half < search->low ? search->low : half;
    return true;
}

/* Half way, by ratio. */
static uint64_t middle(uint64_t low, uint64_t high) {
    uint64_t a = low, b = high;

    while (a < b && b - a > 1) { /* the root of low * high */
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

static bool step_between(struct leat_bench_search *search, uint64_t *ret_value) {
    size_t best = best_index(search);
    const struct leat_bench_point *at = &search->points[best];
    uint64_t below = best > 0 ? at[-1].value : at->value;
    uint64_t above = best + 1 < search->n_points ? at[1].value : at->value;

    if (search->n_vain > MAX_VAIN || search->n_between >= MAX_BETWEEN)
        return false;
    if (is_wide(at->value, above) &&
        (unsigned __int128)above * below >= (unsigned __int128)at->value * at->value)
        *ret_value = middle(at->value, above);
    else if (is_wide(below, at->value))
        *ret_value = middle(below, at->value);
    else if (is_wide(at->value, above))
        *ret_value = middle(at->value, above);
    else
        return false;
    search->n_between++;
    return true;
}

static bool step_smallest(struct leat_bench_search *search, uint64_t *ret_value) {
    size_t smallest = smallest_index(search);

    if (smallest == 0 ||
        !is_wide(search->points[smallest - 1].value, search->points[smallest].value))
        return false;
    *ret_value = middle(search->points[smallest - 1].value, search->points[smallest].value);
    return true;
}

bool leat_bench_search_next(struct leat_bench_search *search, uint64_t *ret_value) {
    static bool (*const steps[])(struct leat_bench_search *, uint64_t *) = {
        [LEAT_BENCH_UP] = step_up,
        [LEAT_BENCH_DOWN] = step_down,
        [LEAT_BENCH_BETWEEN] = step_between,
        [LEAT_BENCH_SMALLEST] = step_smallest,
    };

    while (search->phase < LEAT_BENCH_FOUND) {
        if (search->n_points == LEAT_BENCH_SEARCH_MAX) {
            explain(search, "%d values were tried", LEAT_BENCH_SEARCH_MAX);
            go_to(search, LEAT_BENCH_FOUND);
        } else if (steps[search->phase](search, ret_value) && !is_known(search, *ret_value)) {
            return true;
        } else if (search->phase == LEAT_BENCH_DOWN && !leat_bench_search_best(search)) {
            go_to(search, LEAT_BENCH_FOUND);
        } else {
            go_to(search, (unsigned)search->phase + 1);
        }
    }
    return false;
}

void leat_bench_search_tell(struct leat_bench_search *search, uint64_t value, double score) {
    const struct leat_bench_point *best = leat_bench_search_best(search);
    bool is_gain = !best || score > best->score * (1 + LEAT_BENCH_GAIN);
    size_t i = search->n_points;

    if (i == LEAT_BENCH_SEARCH_MAX)
        return;
    search->n_vain = is_gain ? 0 : search->n_vain + 1;
    for (; i > 0 && search->points[i - 1].value > value; i--)
        search->points[i] = search->points[i - 1];
    search->points[i] = (struct leat_bench_point){.value = value, .score = score > 0 ? score : 0};
    search->n_points++;
}
