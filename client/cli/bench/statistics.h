/* statistics.h: summaries of several runs: median, range, and ratios of pairs. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LEAT_BENCH_REPEAT_MAX 100

struct leat_bench_summary {
    size_t n_values;          /* finite ones; 0: the rest is NAN */
    double median, low, high; /* of an even number: the mean of the two in the middle */
};

/* Values that are not finite are left out. n_values at most LEAT_BENCH_REPEAT_MAX. */
struct leat_bench_summary leat_bench_summarise(const double *values, size_t n_values);

/* (high - low) / median; 0 of fewer than two values, or where the median is 0. */
double leat_bench_spread(const struct leat_bench_summary *summary);

/* Summarises b[i] / a[i], for each i with finite values and an a[i] other than 0. */
struct leat_bench_summary leat_bench_ratios(const double *a, const double *b, size_t n_values);

/* True if the ratios do not show which side is larger: their range covers 1, or there is at most
 * one of them. */
bool leat_bench_covers_one(const struct leat_bench_summary *ratios);
