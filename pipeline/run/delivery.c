#include "pipeline/run/delivery.h"

#include <errno.h>

#include "proto/base/text.h"

void leat_run_delivery_init(struct leat_run_delivery *delivery, struct leat_ordering *ordering,
                            struct leat_job_pool *jobs) {
    const struct leat_intake *intake = ordering->feed->intake;

    *delivery = (struct leat_run_delivery){
        .plan = intake->plan,
        .knobs = ordering->knobs,
        .horizon = ordering->horizon,
        .jobs = jobs,
        .ordering = ordering,
        .fetch = ordering->fetch,
        .forward = &intake->forward,
    };
    leat_outputs_init(&delivery->outputs);
}

void leat_run_delivery_deinit(struct leat_run_delivery *delivery) {
    leat_outputs_deinit(&delivery->outputs);
}

bool leat_run_delivery_may_make_first(const struct leat_run_delivery *delivery) {
    const struct leat_batch_refs *first = leat_ordering_first(delivery->ordering);

    return !first || leat_horizon_may_make(delivery->horizon, first->epoch);
}

static uint64_t max_ahead(const struct leat_run_delivery *delivery) {
    return leat_horizon_max_ahead(delivery->horizon, delivery->knobs->of[LEAT_KNOB_AHEAD]);
}

/* Number of batches that may be put into slots now. */
static size_t slot_room(const struct leat_run_delivery *delivery) {
    uint64_t limit = max_ahead(delivery);
    size_t n_ahead = delivery->outputs.n_batches, n_slots = delivery->outputs.n_slots;
    size_t n = n_ahead < limit ? (size_t)limit - n_ahead : 0;

    return n < n_slots ? n : n_slots;
}

size_t leat_run_delivery_slot_need(const struct leat_run_delivery *delivery) {
    struct leat_batch_refs *first = leat_ordering_first(delivery->ordering);

    if (!first || first->kind != LEAT_OUTPUT_BATCH ||
        !leat_fast_forward_has_batch(delivery->forward, first))
        return 0;
    return (size_t)leat_collate_need(delivery->plan, first);
}

/* True if the first batch of the queue has its rows, and the horizon lets it be made. */
static bool is_ready(const struct leat_run_delivery *delivery) {
    return leat_row_fetch_has_first(delivery->fetch) && leat_run_delivery_may_make_first(delivery);
}

bool leat_run_delivery_lacks_slot(const struct leat_run_delivery *delivery) {
    return leat_run_delivery_slot_need(delivery) > 0 && delivery->n_jobs_out == 0 &&
           delivery->outputs.n_batches < max_ahead(delivery) && is_ready(delivery);
}

bool leat_run_delivery_is_held(const struct leat_run_delivery *delivery) {
    const struct leat_batch_refs *first = leat_ordering_first(delivery->ordering);

    if (delivery->n_jobs_out > 0)
        return false;
    if (!first)
        return leat_ordering_is_at_horizon(delivery->ordering);
    return first->kind == LEAT_OUTPUT_BATCH &&
           (slot_room(delivery) == 0 || !leat_run_delivery_may_make_first(delivery)) &&
           leat_row_fetch_has_first(delivery->fetch);
}

/* A trainer that sees the end of an epoch finds all of its bad records in their file. So an end
 * waits until they are written; if they cannot be, it never goes out. */
bool leat_run_delivery_has_more(const struct leat_run_delivery *delivery) {
    const struct leat_batch_refs *first = leat_ordering_first(delivery->ordering);
    bool are_lost = leat_bad_records_are_lost(&delivery->ordering->bad);

    return delivery->outputs.first ||
           (first && !(are_lost && first->kind == LEAT_OUTPUT_EPOCH_END));
}

int leat_run_delivery_move_ends(struct leat_run_delivery *delivery, struct leat_error *err) {
    const struct leat_batch_refs *first;

    while ((first = leat_ordering_first(delivery->ordering)) &&
           first->kind == LEAT_OUTPUT_EPOCH_END &&
           leat_bad_records_are_written(&delivery->ordering->bad)) {
        struct leat_batch_refs *end = leat_row_fetch_take(delivery->fetch);
        struct leat_output output = {.kind = LEAT_OUTPUT_EPOCH_END,
                                     .epoch = end->epoch,
                                     .step = end->step,
                                     .is_last = end->is_last};

        leat_batch_refs_free(end);
        if (!leat_outputs_add(&delivery->outputs, &output, true))
            return leat_error_oom(err);
    }
    return 0;
}

/* Adds the first batch of the queue to the job, which makes it in the first slot. */
static int add_first(struct leat_run_delivery *delivery, struct leat_slot slot,
                     struct leat_collate_job *job, struct leat_error *err) {
    const struct leat_batch_refs *first = leat_ordering_first(delivery->ordering);
    struct leat_output output = {.kind = LEAT_OUTPUT_BATCH,
                                 .epoch = first->epoch,
                                 .step = first->step,
                                 .n_rows = first->n_refs,
                                 .slot = slot};
    struct leat_output_entry *entry = leat_outputs_add(&delivery->outputs, &output, false);
    struct leat_collate_item *item = &job->items[job->n_items];

    if (!entry)
        return leat_error_oom(err);
    (void)leat_outputs_take_slot(&delivery->outputs, &slot);
    *item = (struct leat_collate_item){
        .batch = leat_row_fetch_take(delivery->fetch), .slot = slot, .output = entry};
    job->n_items++;
    delivery->n_ref_bytes += item->batch->n_bytes;
    leat_horizon_count_made(delivery->horizon, output.epoch);
    return 0;
}

/* Fills the job with at most so many batches. */
static int fill(struct leat_run_delivery *delivery, size_t max, struct leat_collate_job *job,
                struct leat_error *err) {
    size_t need;
    const struct leat_slot *slot;
    int r = 0;

    job->plan = delivery->plan;
    job->n_items = 0;
    while (r == 0 && job->n_items < max && (need = leat_run_delivery_slot_need(delivery)) > 0 &&
           is_ready(delivery) && (slot = leat_outputs_find_slot(&delivery->outputs, need)))
        r = add_first(delivery, *slot, job, err);
    return r;
}

int leat_run_delivery_job(struct leat_run_delivery *delivery, struct leat_job **ret_job,
                          struct leat_error *err) {
    size_t max = (size_t)delivery->knobs->of[LEAT_KNOB_COLLATED], room = slot_room(delivery);
    long long max_bytes = (long long)delivery->plan->options.max_batch_bytes;
    size_t need = leat_run_delivery_slot_need(delivery);
    char size[LEAT_SHOW_BYTES_MAX];
    struct leat_job *job;
    int r;

    if (need > (size_t)max_bytes)
        return leat_error_set(err, -EMSGSIZE,
                              "a batch needs %s, more than max_batch_bytes (%lld): limit its rows "
                              "with max_length, or raise max_batch_bytes",
                              leat_show_bytes(need, size), max_bytes);
    if (need == 0 || room == 0 || !is_ready(delivery) || (delivery->n_jobs_out > 0 && room < max))
        return 0;
    job = leat_job_pool_take(delivery->jobs, LEAT_JOB_COLLATE, 0);
    if (!job)
        return leat_error_oom(err);
    r = fill(delivery, room < max ? room : max, &job->collate, err);
    if (job->collate.n_items == 0) {
        leat_job_pool_give(delivery->jobs, job);
        return r;
    }
    if (r < 0) /* The batches that were left out are tried again by the next job. */
        *err = LEAT_ERROR_INIT;
    delivery->n_jobs_out++;
    *ret_job = job;
    return 1;
}

static void count_item(struct leat_stream_counts *counts, const struct leat_collate_item *item) {
    counts->figures.n_batches++;
    counts->figures.n_rows += item->batch->n_refs;
    counts->figures.n_elements += item->n_elements;
    leat_stream_counts_spread(counts, LEAT_SPREAD_BATCH_BYTES, item->used_bytes);
    leat_stream_counts_spread(counts, LEAT_SPREAD_BATCH_ROWS, item->batch->n_refs);
}

void leat_run_delivery_end_job(struct leat_run_delivery *delivery, const struct leat_job *job) {
    delivery->n_jobs_out--;
    for (size_t i = 0; i < job->collate.n_items; i++) {
        const struct leat_collate_item *item = &job->collate.items[i];

        leat_output_entry_finish(item->output, item->used_bytes, job->thread,
                                 job->start_ns + job->busy_ns);
        count_item(&delivery->counts, item);
        delivery->n_ref_bytes -= item->batch->n_bytes;
        leat_row_store_release(delivery->fetch->store, item->batch);
        leat_batch_refs_free(item->batch);
    }
}
