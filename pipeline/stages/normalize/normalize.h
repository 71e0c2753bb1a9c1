/* normalize/normalize.h: mean and standard deviation of a column, from the JSON that `leatctl
 * describe --json` prints:
 *
 *     {"columns": {"Age": {"mean": 29.7, "std": 14.5, ...}, ...}, ...}
 *
 * Pure; any thread.
 */
#pragma once

#include <stddef.h>

#include "proto/base/error.h"

#define LEAT_STATS_BYTES_MAX (UINT32_C(64) << 20)

struct leat_normalization {
    double mean, std;
};

/* Reads the statistics of a column; other members are ignored. file: for messages. 0, -EINVAL or
 * -ENOMEM. */
int leat_normalization_read(const char *data, size_t n_bytes, const char *column, const char *file,
                            struct leat_normalization *ret_stats, struct leat_error *err);
