/* histogram.h: times of many jobs in little memory: their number, sum, minimum, maximum and
 * quantiles.
 *
 * Log-linear, as HdrHistogram's (hdrhistogram.org): below 8 each value has its own bucket, above it
 * each power of two has eight of equal width. A quantile is off by at most a sixteenth of its value
 * (LEAT_HISTOGRAM_ERROR); all else is exact. Values from 2^40 on (18 minutes in nanoseconds) share
 * the last bucket. Merging equals adding all values. Owner: the holder of the struct.
 */
#pragma once

#include <stddef.h>
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

/* How many values lie between which bounds, as Prometheus' histograms have it: for many
 * streams, where leat_histogram would take too much. A value is of the first bound that it does not
 * exceed; those above the last have a place of their own. Owner: its holder. */
#define LEAT_SPREAD_MAX_BOUNDS 13

struct leat_spread_bounds {
    size_t n;
    uint64_t at[LEAT_SPREAD_MAX_BOUNDS];
};

struct leat_spread {
    uint64_t n[LEAT_SPREAD_MAX_BOUNDS + 1]; /* not of those below */
    uint64_t total;                         /* of the values */
};

extern const struct leat_spread_bounds leat_spread_waits; /* nanoseconds: 0.1 ms to 100 s */
extern const struct leat_spread_bounds leat_spread_bytes; /* 1 KiB to 1 GiB */
extern const struct leat_spread_bounds leat_spread_rows;  /* 1 to 65,536 */

void leat_spread_add(struct leat_spread *spread, const struct leat_spread_bounds *bounds,
                     uint64_t value);
void leat_spread_merge(struct leat_spread *spread, const struct leat_spread *other);
