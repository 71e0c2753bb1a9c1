#include "pipeline/run/pass.h"

#include <errno.h>

int leat_pass_init(struct leat_pass *pass, const struct leat_plan *plan,
                   const struct leat_run_options *options, bool may_evict, struct leat_error *err) {
    struct leat_sequence wanted = {
        .seed = options->has_seed ? options->seed : (uint64_t)plan->options.seed,
        .first_epoch = options->first_epoch,
        .first_step = options->first_step,
        .n_steps = options->n_steps,
        .first_rank = options->first_rank,
        .n_ranks = options->n_ranks,
        .world_size = options->world_size,
        .round_phase = options->round_phase,
    };
    int r;

    *pass = (struct leat_pass){
        .plan = plan,
        .first_epoch = options->first_epoch,
        .n_epochs = options->n_epochs,
        .n_steps = options->n_steps,
        .epoch = options->first_epoch,
    };
    r = leat_order_init(&pass->order, plan, &wanted, err);
    pass->order.may_evict = may_evict;
    return r < 0 ? r : leat_order_start_epoch(&pass->order, pass->epoch, err);
}

void leat_pass_deinit(struct leat_pass *pass) {
    leat_order_deinit(&pass->order);
}

bool leat_pass_wants_epoch(const struct leat_pass *pass, uint64_t epoch) {
    return pass->n_epochs == 0 || epoch - pass->first_epoch < pass->n_epochs;
}

/* Keeps a failure behind the last wanted batch, for a run that is extended. */
static int fail_order(struct leat_pass *pass, struct leat_error *err) {
    if (pass->order.batcher.n_left > 0)
        return err->code;
    pass->late_error = *err;
    *err = LEAT_ERROR_INIT;
    return LEAT_PASS_STALLS;
}

int leat_pass_push(struct leat_pass *pass, size_t lane, struct leat_block *block, uint32_t row,
                   uint32_t *n, struct leat_error *err) {
    int r = leat_order_feed(&pass->order, lane, block, row, n, err);

    pass->n_pass_rows += *n;
    pass->n_rows += *n;
    if (r == 0)
        return LEAT_PASS_GOES_ON;
    if (r < 0)
        return fail_order(pass, err);
    return r == LEAT_ORDER_EPOCH_DONE ? LEAT_PASS_EPOCH_IS_OVER : LEAT_PASS_IS_OVER;
}

static int fail_without_batches(const struct leat_pass *pass, const struct leat_bad_records *bad,
                                struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX] = "";

    if (bad->n_epoch > 0)
        (void)leat_error_print(&bad->last, text, sizeof(text));
    return leat_error_set(
        err, -ENODATA,
        "epoch %llu has no batches: leat read %llu records, %llu of them were bad, and filters "
        "kept %llu%s%s%.300s",
        (unsigned long long)pass->epoch, (unsigned long long)pass->n_epoch_records,
        (unsigned long long)bad->n_epoch, (unsigned long long)pass->n_epoch_rows,
        pass->n_epoch_rows
            ? ", but `skip`, other filters or `drop_last` then dropped all of these rows"
            : "",
        text[0] ? "; the last bad record is " : "", text);
}

static int check_epoch(const struct leat_pass *pass, const struct leat_bad_records *bad,
                       struct leat_error *err) {
    const struct leat_batcher *batcher = &pass->order.batcher;
    bool is_first = pass->epoch == batcher->first_epoch;

    if (batcher->n_closed == 0)
        return fail_without_batches(pass, bad, err);
    if (batcher->n_rounds == 0 && !(is_first && batcher->first_step > 0))
        return leat_error_set(
            err, -ENODATA,
            "%llu ranks are too many: epoch %llu has only %llu steps, so no rank gets a batch: use "
            "fewer ranks, or set `uneven: pad` to repeat batches",
            (unsigned long long)batcher->world_size, (unsigned long long)pass->epoch,
            (unsigned long long)batcher->n_closed);
    /* The first step of a rank may lie behind the end, in the last round of the epoch. */
    if (is_first && batcher->first_step >= batcher->n_closed + batcher->world_size)
        return leat_error_set(
            err, -EINVAL,
            "step %llu does not exist: epoch %llu has only %llu steps, numbered from 0",
            (unsigned long long)batcher->first_step, (unsigned long long)pass->epoch,
            (unsigned long long)batcher->n_closed);
    return 0;
}

static int end_epoch(struct leat_pass *pass, const struct leat_bad_records *bad,
                     struct leat_error *err) {
    struct leat_batcher *batcher = &pass->order.batcher;
    bool is_last = !leat_pass_wants_epoch(pass, pass->epoch + 1);
    int r = 0;

    if (batcher->n_left > 0)
        r = leat_batcher_end_round(batcher, err);
    if (r == 0 && batcher->n_left == 0) { /* The last round may have used up the limit. */
        pass->has_pending_end = true;
        return 0;
    }
    if (r == 0)
        r = check_epoch(pass, bad, err);
    if (r == 0 && leat_batcher_add_end(batcher, is_last) < 0)
        r = leat_error_oom(err);
    if (r < 0)
        return r;
    pass->n_epoch_rows = pass->n_epoch_records = 0;
    pass->is_complete = is_last;
    pass->epoch++;
    pass->pass = 0;
    return is_last ? 0 : leat_order_start_epoch(&pass->order, pass->epoch, err);
}

static bool wants_repeat(const struct leat_pass *pass) {
    const struct leat_plan *plan = pass->plan;

    return plan->has_repeat && (plan->repeat_count == 0 || pass->pass + 1 < plan->repeat_count);
}

int leat_pass_end(struct leat_pass *pass, bool epoch_is_over, const struct leat_bad_records *bad,
                  struct leat_error *err) {
    bool with_next = !epoch_is_over && pass->n_pass_rows > 0 && wants_repeat(pass);
    int r = leat_order_end_pass(&pass->order, pass->epoch, pass->pass, &with_next, err);

    pass->n_epoch_rows += pass->n_pass_rows;
    pass->n_pass_rows = 0;
    if (r == 0 && with_next)
        pass->pass++;
    else if (r == 0)
        r = end_epoch(pass, bad, err);
    return r < 0 ? fail_order(pass, err) : LEAT_PASS_GOES_ON;
}

int leat_pass_stop_at_limit(struct leat_pass *pass) {
    if (pass->is_complete || pass->order.batcher.n_left > 0)
        return 0;
    pass->is_complete = pass->is_at_limit = true;
    return leat_batcher_add_end(&pass->order.batcher, true);
}

void leat_pass_extend(struct leat_pass *pass, uint64_t n_epochs, uint64_t n_steps) {
    pass->n_epochs = n_epochs;
    pass->n_steps = n_steps;
    if (!pass->is_at_limit)
        leat_batcher_want(&pass->order.batcher, n_steps);
}

struct leat_batch_refs *leat_pass_queued_end(const struct leat_pass *pass) {
    struct leat_batch_refs *last = pass->order.batcher.queue.first;

    while (last && last->next)
        last = last->next;
    return last;
}

int leat_pass_go_on(struct leat_pass *pass, const struct leat_bad_records *bad,
                    struct leat_error *err) {
    bool has_pending_end = pass->has_pending_end;

    pass->is_complete = pass->is_at_limit = pass->has_pending_end = false;
    leat_batcher_want(&pass->order.batcher, pass->n_steps);
    if (pass->late_error.code && pass->order.batcher.n_left > 0) {
        *err = pass->late_error;
        return err->code;
    }
    return has_pending_end ? end_epoch(pass, bad, err) : 0;
}

bool leat_pass_reopen_end(struct leat_pass *pass) {
    struct leat_batch_refs *end = leat_pass_queued_end(pass);

    if (end)
        end->is_last = false;
    return end != NULL;
}

int leat_pass_start_next_epoch(struct leat_pass *pass, struct leat_error *err) {
    pass->is_complete = false;
    return leat_order_start_epoch(&pass->order, pass->epoch, err);
}
