/* column_stats.h: what can be told of a column without keeping it: lengths, numbers, the type that
 * a column of text could have. Memory does not grow with the rows. Pure; owner: the caller. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/block/block.h"
#include "pipeline/stage/stage.h"

/* Lengths, counted one by one below 512, then in 32 steps for each power of two: an answer is right
 * to 3 %. */
#define LEAT_LENGTHS_BUCKETS 1248

struct leat_lengths {
    uint64_t n, sum;
    uint32_t min, max;
    uint64_t counts[LEAT_LENGTHS_BUCKETS];
};

void leat_lengths_add(struct leat_lengths *histogram, uint32_t value);
/* The lengths of a bucket, from first to last. */
void leat_lengths_bucket(uint32_t bucket, uint32_t *ret_first, uint32_t *ret_last);
/* The smallest length that so many of 100 are not above (0 if there are none). */
uint32_t leat_lengths_percentile(const struct leat_lengths *histogram, unsigned percent);

/* Mean and variance as they come (Welford, Technometrics 4, 1962). */
struct leat_moments {
    uint64_t n;
    double mean, m2, min, max;
};

void leat_moments_add(struct leat_moments *moments, double value);
/* Of all that there are (not of a sample). 0 if there are none. */
double leat_moments_std(const struct leat_moments *moments);

struct leat_column_stats {
    uint64_t n_rows, n_empty;
    uint64_t n_not_finite; /* numbers that are NaN or infinite: in no other count of numbers */
    bool has_other, has_float, has_int, has_bool; /* TEXT: what texts that are not empty could be */
    struct leat_moments numbers; /* of scalars, items of lists, texts if all are numbers */
    struct leat_lengths lengths; /* of texts (bytes) and lists (items) */
};

/* One row more. */
void leat_column_stats_add(struct leat_column_stats *stats, const struct leat_field *field,
                           const struct leat_column *column, uint32_t row);
/* The type that the values have: "int64" for a text column of whole numbers. `buffer`: where the
 * name of a list is made. */
const char *leat_column_stats_type(const struct leat_column_stats *stats,
                                   const struct leat_field *field, char *buffer, size_t size);
/* Whether `numbers` tells of all its rows that are not empty. */
bool leat_column_stats_is_numeric(const struct leat_column_stats *stats,
                                  const struct leat_field *field);
