/* column_stats.h: statistics of a column: lengths, numbers, and the type that a column of text
 * could have. Memory does not grow with the rows. Pure; owner: the caller. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/block/block.h"
#include "pipeline/stage/stage.h"

/* Lengths below 512 have their own bucket; each power of two above has 32. Results are exact to 3
 * %. */
#define LEAT_LENGTHS_BUCKETS 1248

struct leat_lengths {
    uint64_t n, sum;
    uint32_t min, max;
    uint64_t counts[LEAT_LENGTHS_BUCKETS];
};

void leat_lengths_add(struct leat_lengths *histogram, uint32_t value);
/* The lengths of a bucket, from first to last. */
void leat_lengths_bucket(uint32_t bucket, uint32_t *ret_first, uint32_t *ret_last);
/* The smallest length that `percent` of the lengths do not exceed; 0 without any. */
uint32_t leat_lengths_percentile(const struct leat_lengths *histogram, unsigned percent);

/* Mean and variance as they come (Welford, Technometrics 4, 1962). */
struct leat_moments {
    uint64_t n;
    double mean, m2, min, max;
};

void leat_moments_add(struct leat_moments *moments, double value);
/* The standard deviation of the population; 0 without values. */
double leat_moments_std(const struct leat_moments *moments);

struct leat_column_stats {
    uint64_t n_rows, n_empty;
    uint64_t n_not_finite; /* NaN or infinite numbers, which `numbers` leaves out */
    bool has_other, has_float, has_int, has_bool; /* TEXT: what non-empty texts could be */
    struct leat_moments numbers; /* of scalars, of items of lists, of texts if all are numbers */
    struct leat_lengths lengths; /* of texts (bytes) and lists (items) */
};

/* Adds a row. */
void leat_column_stats_add(struct leat_column_stats *stats, const struct leat_field *field,
                           const struct leat_column *column, uint32_t row);
/* The type of the values: "int64" for a text column of whole numbers. `buffer` may hold the name.
 */
const char *leat_column_stats_type(const struct leat_column_stats *stats,
                                   const struct leat_field *field, char *buffer, size_t size);
/* True if `numbers` has all rows that are not empty. */
bool leat_column_stats_is_numeric(const struct leat_column_stats *stats,
                                  const struct leat_field *field);
