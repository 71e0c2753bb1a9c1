/* forecast.h: the expected speed of a stream, from the times of its parts for a sample of the data
 * (measure.h). It is a prediction: other load, disks, the rest of the data and the trainer are
 * unknown.
 *
 * Workers share the jobs, one job at a time cuts a source, and the loop works on references. The
 * one that takes longest for a record bounds the rate (bound.h).
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/run/bound.h"

/* Time of the loop to hand out a batch and take it back, measured once. */
#define LEAT_FORECAST_BATCH_NS 4000.0

struct leat_measurement {
    /* the sample */
    uint64_t n_bytes, n_records; /* read and cut, after decompression */
    uint64_t n_rows;             /* that came out of the pass */
    uint64_t n_batches, n_batch_rows;
    uint64_t n_early_batches; /* that were full before the end of the sample */
    uint64_t elapsed_ns;
    bool is_all; /* The sample is all of an epoch. */
    /* times */
    uint64_t scan_ns, order_ns, collate_ns;
    uint64_t first_ns;    /* from the start to the end of the first block's pass */
    uint64_t n_step_rows; /* records of the blocks whose steps count */
    uint64_t *step_ns;    /* [1 + n_map]: parse, then stages */
    uint64_t n_warm_rows; /* records of blocks that were mapped again, when stages knew them */
    uint64_t *warm_ns;    /* [1 + n_map]; may be NULL */
    uint64_t n_collated_rows;
    uint64_t n_cached_rows, encode_ns, load_ns; /* into and out of a cache */
    double n_epoch_records;                     /* estimated; 0: an epoch has no end */
};

void leat_measurement_deinit(struct leat_measurement *measurement);

struct leat_forecast {
    const struct leat_measurement *measurement; /* NULL: nothing was measured */
    const char *reason;                         /* why not, as the end of a sentence */
    uint32_t n_threads;                         /* workers that have a processor */
    /* of one record of the source, on one thread */
    double scan_ns, pass_ns, collate_ns, order_ns, encode_ns, load_ns;
    enum leat_resource bound;
    double records_per_s, bytes_per_s, rows_per_s;
    double epoch_s, first_batch_s;
    double cached_records_per_s, cached_epoch_s; /* 0: there is no cache */
};

/* n_processors: of this process. */
void leat_forecast_make(const struct leat_plan *plan, const struct leat_measurement *measurement,
                        uint32_t n_workers, uint32_t n_processors,
                        struct leat_forecast *ret_forecast);

/* Nanoseconds for a record in that step of the pass; < 0: unknown. */
double leat_forecast_step(const struct leat_forecast *forecast, uint32_t step);
