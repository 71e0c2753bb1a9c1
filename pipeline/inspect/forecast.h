/* forecast.h: how fast a stream may be expected to be, from what its parts took for a sample of
 * the data (measure.h). A prediction: who else uses the machine, how fast its disks are, the rest
 * of the data, and how fast the trainer takes batches are not known.
 *
 * The workers share what is done in jobs; a source is cut by one job at a time; the loop does what
 * works on references. Whichever of them takes longest for a record says how many records come.
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/run/bound.h"

/* What the loop does for each batch besides, measured once: handing it out, taking it back. */
#define LEAT_FORECAST_BATCH_NS 4000.0

struct leat_measurement {
    /* the sample */
    uint64_t n_bytes, n_records;                     /* read and cut: text, after decompression */
    uint64_t n_rows;                                 /* that came out of the pass, */
    uint64_t n_batches, n_batch_rows, n_batch_bytes; /* and that went into batches */
    uint64_t n_early_batches;                        /* there before the sample was at its end */
    uint64_t elapsed_ns;
    bool is_all; /* it is all of an epoch */
    /* what it took */
    uint64_t scan_ns, order_ns, collate_ns;
    uint64_t first_ns;    /* until the first block was through the pass, from nothing */
    uint64_t n_step_rows; /* records of blocks that steps were measured on */
    uint64_t *step_ns;    /* [1 + n_map]: parse, then stages */
    uint64_t n_warm_rows; /* the last of these once more, when all in them was met before */
    uint64_t *warm_ns;    /* [1 + n_map]; may be NULL */
    uint64_t n_collated_rows;
    uint64_t n_cached_rows, encode_ns, load_ns; /* into and out of a cache */
    double n_epoch_records;                     /* as far as can be told; 0: an epoch has no end */
};

void leat_measurement_deinit(struct leat_measurement *measurement);

struct leat_forecast {
    const struct leat_measurement *measurement; /* NULL: nothing was measured */
    const char *reason;                         /* why not; a sentence's end */
    uint32_t n_threads;                         /* workers that there are processors for */
    /* of one record of the source, on one thread */
    double scan_ns, pass_ns, collate_ns, order_ns, encode_ns, load_ns;
    enum leat_resource bound;
    double records_per_s, bytes_per_s, rows_per_s;
    double epoch_s, first_batch_s;
    double cached_records_per_s, cached_epoch_s; /* 0: there is no cache */
};

/* n_processors: that this process may use. */
void leat_forecast_make(const struct leat_plan *plan, const struct leat_measurement *measurement,
                        uint32_t n_workers, uint32_t n_processors,
                        struct leat_forecast *ret_forecast);

/* Nanoseconds for a record in that step of the pass; < 0: unknown. */
double leat_forecast_step(const struct leat_forecast *forecast, uint32_t step);
