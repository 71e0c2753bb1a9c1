/* histogram.h: times of many jobs in little memory: how many there were, their sum, least and most,
 * and quantiles.
 *
 * Log-linear, as HdrHistogram's (hdrhistogram.org): below 8 each value has its bucket, from there
 * on each power of two has eight of equal width. A quantile is off by at most a sixteenth of its
 * value (LEAT_HISTOGRAM_ERROR); number, sum, least and most are exact. Values from 2^40 on (as
 * nanoseconds 18 minutes) share the last bucket. Merging gives what adding all the values would
 * have given. Owner: whoever holds the struct.
 */
#pragma once

#include <stdint.h>

#define LEAT_HISTOGRAM_ERROR     16 /* a sixteenth */
#define LEAT_HISTOGRAM_N_BUCKETS 304

struct leat_histogram {
    uint64_t n, total, min, max; /* min and max of none: 0 */
    uint64_t buckets[LEAT_HISTOGRAM_N_BUCKETS];
};

void leat_histogram_add(struct leat_histogram *histogram, uint64_t value);
void leat_histogram_merge(struct leat_histogram *histogram, const struct leat_histogram *other);
/* The least value that is not exceeded by that share (0..1) of them, about; of none: 0. */
uint64_t leat_histogram_quantile(const struct leat_histogram *histogram, double share);
uint64_t leat_histogram_mean(const struct leat_histogram *histogram);
