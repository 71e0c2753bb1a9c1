/* run/horizon.c: how far a run works ahead of its trainers.
 *
 * Batches do not depend on it; work does: of the epoch that a trainer has begun all may be made,
 * and of the next one the first batches (`prefetch`). What those need is read and mapped, and no
 * more: the blocks that fill what the order holds, then one block after the other. Beyond the next
 * epoch nothing is done.
 */
#include "pipeline/run/run_internal.h"

void leat_run_horizon_init(struct leat_run *run) {
    const struct leat_plan *plan = run->plan;
    uint64_t n_ranks = run->options.n_ranks ? run->options.n_ranks : 1;
    uint64_t world_size = run->options.world_size ? run->options.world_size : 1;
    struct leat_run_horizon *horizon = &run->horizon;

    horizon->reached = horizon->made_epoch = run->options.first_epoch;
    horizon->n_next = plan->prefetch_size * n_ranks;
    if (plan->has_prefetch)
        run->knobs.of[LEAT_KNOB_AHEAD] = horizon->n_next;
    leat_knobs_clamp(&run->knobs);
    if (plan->mixing) /* nobody knows how many of which source */
        return;
    horizon->n_rows = plan->prefetch_size * world_size * plan->batch_size;
    for (size_t i = 0; i < plan->n_order; i++) {
        const struct leat_plan_stage *stage = plan->order[i];
        uint64_t n_rows = 0, n_bytes = 0;

        if (stage->filter_column >= 0 || !stage->ops->holding)
            continue;
        stage->ops->holding(stage->config, &n_rows, &n_bytes);
        horizon->n_rows += n_rows;
        if (stage->ops->evicts_above && stage->ops->evicts_above(stage->config) > 0)
            horizon->n_rows = UINT64_MAX / 2; /* it takes a whole pass */
    }
    horizon->n_rows += leat_batcher_holds(plan);
}

void leat_run_reach(struct leat_run *run, uint64_t epoch) {
    if (epoch > run->horizon.reached)
        run->horizon.reached = epoch;
}

void leat_run_set_credit(struct leat_run *run, uint64_t n_batches) {
    run->horizon.n_credit = n_batches;
}

uint64_t leat_run_max_ahead(const struct leat_run *run) {
    uint64_t n_ready = run->knobs.of[LEAT_KNOB_AHEAD];

    return run->plan->has_prefetch ? n_ready + run->horizon.n_credit : n_ready;
}

static bool is_next(const struct leat_run *whole, uint64_t epoch) {
    return epoch == whole->horizon.reached + 1;
}

static bool is_beyond(const struct leat_run *whole, uint64_t epoch) {
    return epoch > whole->horizon.reached + 1;
}

bool leat_run_is_at_horizon(const struct leat_run *whole) {
    uint64_t n_lined = whole->order.batcher.n_lined - whole->horizon.n_lined_before;

    return is_beyond(whole, whole->epoch) ||
           (is_next(whole, whole->epoch) && n_lined >= whole->horizon.n_next);
}

/* Records in line of the pass that is read, of which no more than that entry are begun. */
static uint64_t n_begun(const struct leat_run *run, uint64_t epoch, bool with_unmapped) {
    uint64_t n = 0;

    for (const struct leat_queue_entry *entry = run->first; entry; entry = entry->next)
        if (entry->epoch == epoch && entry->state != LEAT_ENTRY_PASS_END &&
            (with_unmapped ||
             (entry->state != LEAT_ENTRY_SCANNED && entry->state != LEAT_ENTRY_CACHED)))
            n += entry->piece.span.n_records ? entry->piece.span.n_records : 1;
    return n;
}

/* Whether so many records in line are too few for what is still wanted of the next epoch. */
static bool are_too_few(const struct leat_run *whole, uint64_t n_records) {
    uint64_t n_taken = is_next(whole, whole->epoch) ? whole->n_pass_rows + whole->n_epoch_rows : 0;

    return n_taken < whole->horizon.n_rows && n_records < whole->horizon.n_rows - n_taken;
}

bool leat_run_may_scan(const struct leat_run *run, uint64_t epoch) {
    const struct leat_run *whole = run->whole ? run->whole : run;
    uint64_t n_records;

    if (epoch <= whole->horizon.reached || whole->options.only_builds)
        return true;
    if (is_beyond(whole, epoch) || leat_run_is_at_horizon(whole))
        return false;
    n_records = n_begun(run, epoch, true);
    return n_records == 0 || are_too_few(whole, n_records);
}

bool leat_run_may_begin(const struct leat_run *run, const struct leat_queue_entry *entry) {
    const struct leat_run *whole = run->whole ? run->whole : run;

    if (entry->epoch <= whole->horizon.reached || entry->parked)
        return true;
    if (is_beyond(whole, entry->epoch) || leat_run_is_at_horizon(whole))
        return false;
    return entry == run->first || are_too_few(whole, n_begun(run, entry->epoch, false));
}

bool leat_run_may_make_first(const struct leat_run *run) {
    const struct leat_batch_refs *first = run->order.batcher.first;
    const struct leat_run_horizon *horizon = &run->horizon;

    if (!first || first->epoch <= horizon->reached)
        return true;
    return is_next(run, first->epoch) &&
           (horizon->made_epoch != first->epoch || horizon->n_made < horizon->n_next);
}

void leat_run_count_made(struct leat_run *run, uint64_t epoch) {
    struct leat_run_horizon *horizon = &run->horizon;

    if (horizon->made_epoch != epoch)
        horizon->n_made = 0;
    horizon->made_epoch = epoch;
    horizon->n_made++;
}
