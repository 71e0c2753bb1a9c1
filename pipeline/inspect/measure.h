/* measure.h: a short trial of a stream: the first blocks of its source go through all that a run
 * does with them, one thing after the other, while it is looked how long each takes. Nothing is
 * written, and nothing is handed out.
 */
#pragma once

#include "pipeline/inspect/forecast.h"

struct leat_measure_options {
    uint64_t max_bytes, max_ns; /* the trial ends behind the block with which it has either */
    uint64_t (*now_ns)(void);
    uint64_t (*busy_ns)(void); /* processor time of this thread: who else runs does not count */
    bool tries_cache;          /* also of a stream that has none: what one would take to read */
    bool may_start_programs;   /* those of `exec`; else such a stream is not tried */
};

#define LEAT_MEASURE_BYTES (UINT64_C(4) << 20)
#define LEAT_MEASURE_NS    (UINT64_C(300) * 1000000)

/* Why the stream cannot be tried; NULL: it can. */
const char *leat_measure_refusal(const struct leat_plan *plan,
                                 const struct leat_measure_options *options);

/* Blocks, and reads files. 0, or -errno: of the source, or of memory. The result is to be freed. */
int leat_measure(const struct leat_plan *plan, const struct leat_opener *opener,
                 const struct leat_measure_options *options,
                 struct leat_measurement *ret_measurement, struct leat_error *err);
