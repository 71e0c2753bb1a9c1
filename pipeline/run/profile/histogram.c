/* histogram.c: see histogram.h. A bucket's value is its middle: half a width is a sixteenth of
 * where it begins. */
#include "pipeline/run/profile/histogram.h"

#define SUB_BITS 3 /* eight buckets a power of two */
#define N_SUB    (1U << SUB_BITS)
#define MAX_BIT  39 /* of the values of the last buckets */

static uint32_t bucket_of(uint64_t value) {
    uint32_t bit, sub;

    if (value < N_SUB)
        return (uint32_t)value;
    bit = 63 - (uint32_t)__builtin_clzll(value);
    if (bit > MAX_BIT)
        return LEAT_HISTOGRAM_N_BUCKETS - 1;
    sub = (uint32_t)(value >> (bit - SUB_BITS)) & (N_SUB - 1);
    return (bit - SUB_BITS + 1) * N_SUB + sub;
}

static uint64_t value_of(uint32_t bucket) {
    uint32_t shift;

    if (bucket < N_SUB)
        return bucket;
    shift = bucket / N_SUB - 1;
    return ((uint64_t)(N_SUB + bucket % N_SUB) << shift) + (((UINT64_C(1) << shift) - 1) >> 1);
}

void leat_histogram_add(struct leat_histogram *histogram, uint64_t value) {
    histogram->min = histogram->n == 0 || value < histogram->min ? value : histogram->min;
    histogram->max = value > histogram->max ? value : histogram->max;
    histogram->n++;
    histogram->total += value;
    histogram->buckets[bucket_of(value)]++;
}

void leat_histogram_merge(struct leat_histogram *histogram, const struct leat_histogram *other) {
    if (other->n == 0)
        return;
    histogram->min = histogram->n == 0 || other->min < histogram->min ? other->min : histogram->min;
    histogram->max = other->max > histogram->max ? other->max : histogram->max;
    histogram->n += other->n;
    histogram->total += other->total;
    for (uint32_t i = 0; i < LEAT_HISTOGRAM_N_BUCKETS; i++)
        histogram->buckets[i] += other->buckets[i];
}

/* The number of values that is this share of n, at least one. */
static uint64_t rank_of(uint64_t n, double share) {
    double rank = share * (double)n;
    uint64_t whole = rank <= 0 ? 0 : rank >= (double)n ? n : (uint64_t)rank;

    whole += (double)whole < rank;
    return whole < 1 ? 1 : whole > n ? n : whole;
}

uint64_t leat_histogram_quantile(const struct leat_histogram *histogram, double share) {
    uint64_t rank = rank_of(histogram->n, share), n = 0, value;
    uint32_t bucket = 0;

    if (histogram->n == 0)
        return 0;
    while (bucket + 1 < LEAT_HISTOGRAM_N_BUCKETS && (n += histogram->buckets[bucket]) < rank)
        bucket++;
    if (rank == histogram->n)
        return histogram->max;
    value = bucket + 1 == LEAT_HISTOGRAM_N_BUCKETS ? histogram->max : value_of(bucket);
    return value < histogram->min   ? histogram->min
           : value > histogram->max ? histogram->max
                                    : value;
}

/* ---- spreads ---- */

const struct leat_spread_bounds leat_spread_waits = {
    .n = 13,
    .at = {100000, 300000, 1000000, 3000000, 10000000, 30000000, 100000000, 300000000, 1000000000,
           3000000000, 10000000000, 30000000000, 100000000000}};
const struct leat_spread_bounds leat_spread_bytes = {.n = 11,
                                                     .at = {1 << 10, 1 << 12, 1 << 14, 1 << 16,
                                                            1 << 18, 1 << 20, 1 << 22, 1 << 24,
                                                            1 << 26, 1 << 28, 1 << 30}};
const struct leat_spread_bounds leat_spread_rows = {
    .n = 9, .at = {1, 1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16}};

void leat_spread_add(struct leat_spread *spread, const struct leat_spread_bounds *bounds,
                     uint64_t value) {
    size_t i = 0;

    while (i < bounds->n && value > bounds->at[i])
        i++;
    spread->n[i]++;
    spread->total += value;
}

void leat_spread_merge(struct leat_spread *spread, const struct leat_spread *other) {
    for (size_t i = 0; i <= LEAT_SPREAD_MAX_BOUNDS; i++)
        spread->n[i] += other->n[i];
    spread->total += other->total;
}
