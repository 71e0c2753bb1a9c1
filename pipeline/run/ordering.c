#include "pipeline/run/ordering.h"

#include <stdlib.h>

int leat_ordering_init(struct leat_ordering *ordering, const struct leat_run_options *options,
                       const struct leat_knobs *knobs, struct leat_horizon *horizon,
                       struct leat_row_feed *feed, struct leat_row_fetch *fetch,
                       const struct leat_own_rows *own, struct leat_error *err) {
    const struct leat_intake *intake = feed->intake;

    *ordering = (struct leat_ordering){
        .options = options,
        .knobs = knobs,
        .horizon = horizon,
        .feed = feed,
        .fetch = fetch,
        .own = own,
    };
    leat_bad_records_init(&ordering->bad, intake->plan);
    return leat_pass_init(&ordering->pass, intake->plan, options, intake->store->max_bytes > 0,
                          err);
}

void leat_ordering_deinit(struct leat_ordering *ordering) {
    leat_pass_deinit(&ordering->pass);
    leat_bad_records_deinit(&ordering->bad);
}

uint64_t leat_ordering_bytes(const struct leat_ordering *ordering) {
    return leat_order_bytes(&ordering->pass.order) + leat_bad_records_bytes(&ordering->bad);
}

struct leat_batch_refs *leat_ordering_first(const struct leat_ordering *ordering) {
    return ordering->pass.order.batcher.queue.first;
}

static struct leat_horizon_place place_of(const struct leat_ordering *ordering) {
    const struct leat_pass *pass = &ordering->pass;

    return (struct leat_horizon_place){
        .epoch = pass->epoch,
        .n_queued = pass->order.batcher.n_queued,
        .n_epoch_rows = pass->n_pass_rows + pass->n_epoch_rows,
    };
}

struct leat_demand leat_ordering_demand(const struct leat_ordering *ordering, bool has_failed,
                                        bool is_cancelled) {
    return (struct leat_demand){
        .horizon = ordering->horizon,
        .place = place_of(ordering),
        .is_over = has_failed || ordering->pass.is_complete,
        .has_failed = has_failed,
        .is_cancelled = is_cancelled,
        .is_before_first = leat_batcher_is_before_first(&ordering->pass.order.batcher),
        .has_planned = ordering->fetch->n_planned > 0,
    };
}

bool leat_ordering_is_at_horizon(const struct leat_ordering *ordering) {
    return leat_horizon_is_reached(ordering->horizon, ordering->pass.epoch,
                                   ordering->pass.order.batcher.n_queued);
}

/* Batches that wait for slots hold on to their blocks: few, as the slots are what is kept ready. */
size_t leat_ordering_n_ready(const struct leat_ordering *ordering) {
    return LEAT_READY_JOBS * (size_t)ordering->knobs->of[LEAT_KNOB_COLLATED];
}

static bool wants_batches(const struct leat_ordering *ordering) {
    const struct leat_batcher *batcher = &ordering->pass.order.batcher;

    return batcher->n_left > 0 &&
           batcher->queue.n_batches <
               leat_own_rows_limit(ordering->own, leat_ordering_n_ready(ordering)) &&
           !leat_ordering_is_at_horizon(ordering);
}

/* Another pass is consumed, if the end of the epoch before is not pending. */
static void follow_pass(struct leat_ordering *ordering, uint64_t old_epoch) {
    struct leat_pass *pass = &ordering->pass;
    bool epoch_is_over = pass->epoch != old_epoch;
    struct leat_demand demand;

    if (epoch_is_over) {
        ordering->bad.n_epoch = 0;
        ordering->horizon->n_queued_before = pass->order.batcher.n_queued;
    }
    if (pass->has_pending_end ||
        (leat_intake_is_mixed(ordering->feed->intake) && pass->is_complete))
        return;
    demand = leat_ordering_demand(ordering, false, false);
    leat_row_feed_start_pass(ordering->feed, &demand, pass->epoch, pass->pass, epoch_is_over);
}

static int end_pass(struct leat_ordering *ordering, bool epoch_is_over, struct leat_error *err) {
    struct leat_pass *pass = &ordering->pass;
    uint64_t old_epoch = pass->epoch;
    int r;

    if (ordering->options->only_builds) {
        pass->is_complete = true;
        return 0;
    }
    pass->n_epoch_records += leat_row_feed_end_pass(ordering->feed);
    r = leat_pass_end(pass, epoch_is_over, &ordering->bad, err);
    if (r >= 0)
        follow_pass(ordering, old_epoch);
    return r < 0 ? r : 0;
}

/* Pushes rows while batches are wanted, up to the end of the pass. */
/* Lanes that are not read have their rows at once. */
static int push_idle_rows(struct leat_ordering *ordering, struct leat_queue_entry *entry,
                          struct leat_error *err) {
    uint64_t *n_rows = entry->n_idle_rows;
    int r;

    if (!n_rows)
        return 0;
    entry->n_idle_rows = NULL;
    r = leat_batcher_add_idle_rows(&ordering->pass.order.batcher, n_rows, err);
    free(n_rows);
    return r;
}

static int push_rows(struct leat_ordering *ordering, const struct leat_row_item *item,
                     struct leat_error *err) {
    struct leat_queue_entry *entry = item->entry;
    int r = push_idle_rows(ordering, entry, err);

    for (uint32_t left = item->n_rows, n; r == LEAT_PASS_GOES_ON && left > 0; left -= n) {
        n = left;
        r = leat_pass_push(&ordering->pass, entry->order_lane, entry->block, entry->next_row, &n,
                           err);
        entry->next_row += n;
        if (!wants_batches(ordering))
            break;
    }
    if (r == LEAT_PASS_IS_OVER || r == LEAT_PASS_EPOCH_IS_OVER)
        return end_pass(ordering, r == LEAT_PASS_EPOCH_IS_OVER, err);
    return r < 0 ? r : 0;
}

static int meet_bad(struct leat_ordering *ordering, const struct leat_row_item *item,
                    struct leat_error *err) {
    const struct leat_pass *pass = &ordering->pass;
    bool is_written = pass->epoch == ordering->options->first_epoch && pass->pass == 0;

    return leat_bad_records_meet(&ordering->bad, item->file, item->bad, is_written, err);
}

static int meet(struct leat_ordering *ordering, enum leat_row_event event,
                const struct leat_row_item *item, struct leat_error *err) {
    switch (event) {
    case LEAT_ROW_NEXT:
        return push_rows(ordering, item, err);
    case LEAT_ROW_BAD:
        return meet_bad(ordering, item, err);
    case LEAT_ROW_PASS_END:
        return end_pass(ordering, false, err);
    case LEAT_ROW_FAILED:
        *err = *item->error;
        return err->code;
    default:
        return 0;
    }
}

int leat_ordering_consume(struct leat_ordering *ordering, bool is_cancelled,
                          struct leat_error *err) {
    struct leat_demand demand = leat_ordering_demand(ordering, false, is_cancelled);
    enum leat_row_event event = LEAT_ROW_NEXT;
    struct leat_row_item item;
    int r = 0;

    while (r == 0 && event != LEAT_ROW_NONE && !is_cancelled &&
           !leat_bad_records_are_full(&ordering->bad) && wants_batches(ordering)) {
        event = leat_row_feed_next(ordering->feed, &demand, ordering->pass.is_complete, &item);
        r = meet(ordering, event, &item, err);
    }
    if (r == 0 && leat_pass_stop_at_limit(&ordering->pass) < 0)
        r = leat_error_oom(err);
    return r;
}

static int go_on_from_limit(struct leat_ordering *ordering, struct leat_outputs *outputs,
                            struct leat_error *err) {
    struct leat_pass *pass = &ordering->pass;
    struct leat_batch_refs *end = leat_pass_queued_end(pass);
    uint64_t old_epoch = pass->epoch;
    bool had_pending_end = pass->has_pending_end;
    int r;

    if (end)
        leat_row_fetch_cut(ordering->fetch, end);
    else
        leat_outputs_drop_last(outputs);
    r = leat_pass_go_on(pass, &ordering->bad, err);
    if (r < 0)
        return r;
    if (had_pending_end)
        follow_pass(ordering, old_epoch);
    return leat_pass_stop_at_limit(pass) < 0 ? leat_error_oom(err) : 0;
}

/* The end of the run becomes the end of an epoch. */
static int go_on_with_next_epoch(struct leat_ordering *ordering, struct leat_outputs *outputs,
                                 struct leat_error *err) {
    struct leat_pass *pass = &ordering->pass;
    struct leat_demand demand;
    int r;

    if (!leat_pass_reopen_end(pass))
        leat_outputs_reopen_last(outputs);
    r = leat_pass_start_next_epoch(pass, err);
    if (r < 0)
        return r;
    demand = leat_ordering_demand(ordering, false, false);
    if (leat_intake_is_mixed(ordering->feed->intake))
        leat_row_feed_start_pass(ordering->feed, &demand, pass->epoch, pass->pass, true);
    return 0;
}

int leat_ordering_extend(struct leat_ordering *ordering, struct leat_outputs *outputs,
                         uint64_t n_epochs, uint64_t n_steps, struct leat_error *err) {
    struct leat_pass *pass = &ordering->pass;

    leat_pass_extend(pass, n_epochs, n_steps);
    if (pass->is_at_limit)
        return n_steps == 0 || n_steps > pass->order.batcher.n_queued
                   ? go_on_from_limit(ordering, outputs, err)
                   : 0;
    if (pass->is_complete && leat_pass_wants_epoch(pass, pass->epoch))
        return go_on_with_next_epoch(ordering, outputs, err);
    return 0;
}
