/* run/extend.c: where a run ends, and that it ends later than it was told.
 *
 * A run that has as many batches as are wanted stops where it is: nothing is read, mapped or pushed
 * through the order any more, and an end stands in line as if it were that of the epoch. What the
 * order holds stays until that end is taken, so that going on is taking the end out of the line
 * again. Where the last batch came with the end of its pass, the end of the epoch is pending.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/run_internal.h"

/* Behind the batches that are wanted by now it does not matter, unless more are. */
void leat_run_fail_order(struct leat_run *run, const struct leat_error *err) {
    if (run->order.batcher.n_left > 0)
        leat_run_fail(run, err);
    else
        run->late_error = *err;
}

void leat_run_stop_at_limit(struct leat_run *run) {
    if (run->is_complete || run->has_failed || run->order.batcher.n_left > 0)
        return;
    if (leat_batcher_add_end(&run->order.batcher, true) < 0)
        leat_run_out_of_memory(run);
    run->is_complete = run->is_at_limit = true;
}

/* The end that stands behind all batches: in their line, or with the outputs already. */
static struct leat_batch_refs *end_in_line(const struct leat_run *run) {
    struct leat_batch_refs *last = run->order.batcher.first;

    while (last && last->next)
        last = last->next;
    return last;
}

static void take_end_out(struct leat_run *run) {
    struct leat_batch_refs *end = end_in_line(run);
    struct leat_output_entry **link = &run->first_output;

    if (end) {
        run->residents.n_planned -= end->is_planned;
        leat_batcher_cut(&run->order.batcher, end);
        return;
    }
    while ((*link)->next)
        link = &(*link)->next;
    free(*link);
    *link = NULL;
    run->last_output = link;
}

static void go_on_from_limit(struct leat_run *run) {
    bool has_pending_end = run->has_pending_end;

    take_end_out(run);
    run->is_complete = run->is_at_limit = run->has_pending_end = false;
    leat_batcher_want(&run->order.batcher, run->options.n_steps);
    if (run->late_error.code && run->order.batcher.n_left > 0)
        leat_run_fail(run, &run->late_error);
    else if (has_pending_end)
        leat_run_end_epoch(run);
    leat_run_stop_at_limit(run);
}

/* The end of the last epoch becomes that of one among others. */
static void go_on_with_next_epoch(struct leat_run *run) {
    struct leat_batch_refs *end = end_in_line(run);
    struct leat_output_entry *entry = run->first_output;
    struct leat_error err = LEAT_ERROR_INIT;

    if (end) {
        end->is_last = false;
    } else {
        while (entry->next)
            entry = entry->next;
        entry->output.is_last = false;
    }
    run->is_complete = false;
    if (leat_order_start_epoch(&run->order, run->epoch, &err) < 0)
        leat_run_fail(run, &err);
    else if (run->n_lanes > 0)
        leat_run_mix_next_pass(run, true);
}

/* And the scanner, if it came to the end of all that was wanted. */
static void want_epochs(struct leat_run *run, uint64_t n_epochs) {
    bool was_wanted = leat_run_wants_epoch(run, run->scan_epoch);

    for (size_t i = 0; i < run->n_lanes; i++)
        want_epochs(run->lanes[i], n_epochs);
    run->options.n_epochs = n_epochs;
    if (was_wanted || !leat_run_wants_epoch(run, run->scan_epoch) || run->n_lanes > 0)
        return;
    run->scan_has_ended = false;
    leat_scan_start(&run->scan, run->plan, run->options.opener, false);
    leat_run_limit_scan(run);
}

static uint64_t later(uint64_t a, uint64_t b) {
    if (a == 0 || b == 0)
        return 0;
    return a > b ? a : b;
}

int leat_run_extend(struct leat_run *run, uint64_t n_epochs, uint64_t n_steps,
                    struct leat_error *err) {
    struct leat_run_options wanted = run->options;
    int r;

    assert(!run->options.only_builds);
    if (run->has_ended || run->is_cancelled)
        return leat_error_set(err, -EPIPE, "the run has come to its end");
    wanted.n_epochs = later(wanted.n_epochs, n_epochs);
    wanted.n_steps = later(wanted.n_steps, n_steps);
    r = leat_run_check_passes(run->plan, &wanted, err);
    if (r < 0)
        return r;
    if (run->has_failed)
        return 0;
    want_epochs(run, wanted.n_epochs);
    run->options.n_steps = wanted.n_steps;
    if (run->is_complete && !run->is_at_limit) {
        leat_batcher_want(&run->order.batcher, wanted.n_steps);
        if (leat_run_wants_epoch(run, run->epoch))
            go_on_with_next_epoch(run);
    } else if (!run->is_at_limit) {
        leat_batcher_want(&run->order.batcher, wanted.n_steps);
    } else if (wanted.n_steps == 0 || wanted.n_steps > run->order.batcher.n_lined) {
        go_on_from_limit(run);
    }
    return 0;
}
