/* measure.h: a short trial of a stream: the first blocks of its source go through the steps of a
 * run, one after the other, and each step is timed. Nothing is written or handed out. */
#pragma once

#include "pipeline/inspect/forecast.h"

struct leat_measure_options {
    uint64_t max_bytes, max_ns; /* The trial ends with the block that reaches one of them. */
    uint64_t (*now_ns)(void);
    uint64_t (*busy_ns)(void); /* processor time of this thread */
    bool tries_cache;          /* Times a cache even if the stream has none. */
    bool may_start_programs;   /* Starts those of `exec`; else such a stream is refused. */
};

#define LEAT_MEASURE_BYTES (UINT64_C(4) << 20)
#define LEAT_MEASURE_NS    (UINT64_C(300) * 1000000)

/* Why the stream cannot be tried; NULL: it can. */
const char *leat_measure_refusal(const struct leat_plan *plan,
                                 const struct leat_measure_options *options);

/* Blocks. 0 or -errno. The caller deinitializes the result in any case. */
int leat_measure(const struct leat_plan *plan, const struct leat_opener *opener,
                 const struct leat_measure_options *options,
                 struct leat_measurement *ret_measurement, struct leat_error *err);
