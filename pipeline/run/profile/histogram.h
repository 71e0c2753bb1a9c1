/* histogram.h: times of many jobs in little memory: their number, sum, minimum, maximum and
 * quantiles.
 *
 * Log-linear, as HdrHistogram's (hdrhistogram.org): below 8 each value has its own bucket, above it
 * each power of two has eight of equal width. A quantile is off by at most a sixteenth of its value
 * (LEAT_HISTOGRAM_ERROR); all else is exact. Values from 2^40 on (18 minutes in nanoseconds) share
 * the last bucket. Merging equals adding all values. Owner: the holder of the struct.
 */
#pragma once

#include <stdint.h>

#define LEAT_HISTOGRAM_ERROR     16 /* a sixteenth */
#define LEAT_HISTOGRAM_N_BUCKETS 304

struct leat_histogram {
    uint64_t n, total, min, max; /* 0 without values */
    uint64_t buckets[LEAT_HISTOGRAM_N_BUCKETS];
};

void leat_histogram_add(struct leat_histogram *histogram, uint64_t value);
void leat_histogram_merge(struct leat_histogram *histogram, const struct leat_histogram *other);
/* The least value that a share (0..1) of the values does not exceed, about; 0 without values. */
uint64_t leat_histogram_quantile(const struct leat_histogram *histogram, double share);
