/* forecast.c: see forecast.h. Arithmetic only. */
#include "pipeline/inspect/forecast.h"

#include <math.h>
#include <stdlib.h>

#include "pipeline/order/batcher.h"

/* Caches of stages (words, in tokenizers) help more the longer an epoch lasts. The time of most of
 * it lies between the end of the sample and a block that stages know. This is the weight of the
 * latter. */
#define WARM_SHARE 0.75

void leat_measurement_deinit(struct leat_measurement *measurement) {
    free(measurement->step_ns);
    free(measurement->warm_ns);
    measurement->step_ns = measurement->warm_ns = NULL;
}

static double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

double leat_forecast_step(const struct leat_forecast *forecast, uint32_t step) {
    const struct leat_measurement *measured = forecast->measurement;

    double late, warm;

    if (!measured || measured->n_step_rows == 0)
        return -1;
    late = (double)measured->step_ns[step] / (double)measured->n_step_rows;
    if (measured->is_all || measured->n_warm_rows == 0)
        return late;
    warm = (double)measured->warm_ns[step] / (double)measured->n_warm_rows;
    return warm < late ? late + (warm - late) * WARM_SHARE : late;
}

/* Rows of batches per record. */
static double yield(const struct leat_measurement *measured) {
    return ratio((double)measured->n_batch_rows, (double)measured->n_records);
}

static void take_costs(const struct leat_plan *plan, const struct leat_measurement *measured,
                       struct leat_forecast *forecast) {
    double n = (double)measured->n_records;
    double n_batches = ratio((double)measured->n_batches, n);

    forecast->scan_ns = ratio((double)measured->scan_ns, n);
    for (uint32_t i = 0; i <= plan->n_map; i++)
        forecast->pass_ns += leat_forecast_step(forecast, i);
    forecast->order_ns = ratio((double)measured->order_ns, n) + n_batches * LEAT_FORECAST_BATCH_NS;
    forecast->collate_ns =
        ratio((double)measured->collate_ns, (double)measured->n_collated_rows) * yield(measured);
    forecast->encode_ns = ratio((double)measured->encode_ns, (double)measured->n_cached_rows);
    forecast->load_ns = ratio((double)measured->load_ns, (double)measured->n_cached_rows);
}

/* Nanoseconds between two records, from the nanoseconds that one takes of each resource. */
static double pace(double scan, double jobs, double loop, double n_threads, double n_processors,
                   enum leat_resource *ret_bound) {
    struct leat_load load = {.of = {[LEAT_RESOURCE_WORKERS] = {jobs, n_threads},
                                    [LEAT_RESOURCE_CPUS] = {jobs + loop, n_processors},
                                    [LEAT_RESOURCE_SCAN] = {scan, 1},
                                    [LEAT_RESOURCE_LOOP] = {loop, 1}}};

    *ret_bound = leat_load_tightest(&load);
    return jobs > 0 || loop > 0 ? leat_load_use(&load, *ret_bound) : 1;
}

/* Records that are read before the first batch is full. */
static double wait_records(const struct leat_plan *plan, const struct leat_measurement *measured) {
    double passed = ratio((double)measured->n_rows, (double)measured->n_records);
    double n_held = (double)leat_batcher_holds(plan), n_batch = (double)plan->batch_size, n;
    bool is_known = measured->n_early_batches > 0;

    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows, n_bytes;

        leat_plan_holding(plan, stage, &n_rows, &n_bytes);
        n_held += (double)n_rows;
        is_known |= n_rows > 0;
    }
    if (!is_known && (double)measured->n_batch_rows > 2 * n_batch)
        return measured->n_epoch_records; /* A stage holds all of them. */
    if (plan->max_tokens > 0 && measured->n_batches > 0)
        n_batch = (double)measured->n_batch_rows / (double)measured->n_batches;
    n = ratio(n_held, passed) + ratio(n_batch, yield(measured));
    return measured->n_epoch_records > 0 ? fmin(n, measured->n_epoch_records) : n;
}

void leat_forecast_make(const struct leat_plan *plan, const struct leat_measurement *measurement,
                        uint32_t n_workers, uint32_t n_processors,
                        struct leat_forecast *ret_forecast) {
    struct leat_forecast *forecast = ret_forecast;
    double n = measurement->n_epoch_records, processors = n_processors, record_ns, jobs_ns;
    enum leat_resource ignored;

    *forecast = (struct leat_forecast){
        .measurement = measurement,
        .n_threads = n_workers < n_processors ? n_workers : n_processors,
    };
    if (measurement->n_records == 0 || measurement->n_step_rows == 0) {
        forecast->measurement = NULL;
        forecast->reason = "the first 4 MiB of the data contain no complete record";
        return;
    }
    take_costs(plan, measurement, forecast);
    jobs_ns = forecast->scan_ns + forecast->pass_ns + forecast->encode_ns + forecast->collate_ns;
    record_ns = pace(forecast->scan_ns, jobs_ns, forecast->order_ns, forecast->n_threads,
                     processors, &forecast->bound);
    forecast->records_per_s = 1e9 / record_ns;
    forecast->rows_per_s = forecast->records_per_s * yield(measurement);
    forecast->bytes_per_s = forecast->records_per_s *
                            ratio((double)measurement->n_bytes, (double)measurement->n_records);
    forecast->first_batch_s =
        ((double)measurement->first_ns + wait_records(plan, measurement) * record_ns) / 1e9;
    if (n > 0)
        forecast->epoch_s = ((double)measurement->first_ns + n * record_ns) / 1e9;
    if (!plan->cache_path)
        return;
    record_ns = pace(0, forecast->load_ns + forecast->collate_ns, forecast->order_ns,
                     forecast->n_threads, processors, &ignored);
    forecast->cached_records_per_s = 1e9 / record_ns;
    forecast->cached_epoch_s = n * record_ns / 1e9;
}
