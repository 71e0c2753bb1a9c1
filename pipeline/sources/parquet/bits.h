/* bits.h: small integers packed into bits: runs (Encodings.md, "Run Length Encoding / Bit-Packing
 * Hybrid") and deltas ("Delta Encoding").
 *
 * Readers stop where the bytes end, but may look at up to LEAT_PARQUET_SLACK bytes behind them.
 * Pure; any thread. The bytes belong to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_parquet_runs {
    const uint8_t *at, *end;
    uint32_t width;  /* bits of a value, up to 32 */
    uint64_t n_left; /* of the run */
    bool is_packed;
    uint32_t value; /* of all, if not packed */
    const uint8_t *bits;
    uint64_t n_passed; /* of the packed values */
};

void leat_parquet_runs_init(struct leat_parquet_runs *runs, const uint8_t *at, const uint8_t *end,
                            uint32_t width);
/* False: there are fewer than n. */
bool leat_parquet_runs_read(struct leat_parquet_runs *runs, uint32_t *values, size_t n);
/* Passes n values if all of them are that value, and in one run. */
bool leat_parquet_runs_pass(struct leat_parquet_runs *runs, uint32_t value, size_t n);

struct leat_parquet_delta {
    const uint8_t *at, *end;
    uint64_t n_left;  /* values */
    uint64_t n_mini;  /* values of a miniblock */
    uint64_t n_minis; /* of a block */
    uint64_t value, min_delta;
    bool is_first;
    const uint8_t *widths; /* [n_minis], of the block */
    uint64_t mini;         /* the next of the block */
    const uint8_t *bits;   /* of the miniblock */
    uint64_t n_in_mini, n_passed;
    uint32_t width;
};

/* False: the header is damaged, or there are more than max_values. */
bool leat_parquet_delta_init(struct leat_parquet_delta *delta, const uint8_t *at,
                             const uint8_t *end, uint64_t max_values);
/* False: there are fewer than n. Sums wrap. */
bool leat_parquet_delta_read(struct leat_parquet_delta *delta, uint64_t *values, size_t n);
/* Reads all values of a copy. Returns where they end and their sum, NULL: they are damaged, or one
 * of them is not in 0..INT32_MAX. */
const uint8_t *leat_parquet_delta_end(struct leat_parquet_delta delta, uint64_t *ret_sum);
