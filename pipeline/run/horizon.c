#include "pipeline/run/horizon.h"

#include "pipeline/order/batcher.h"

static void add_held_rows(struct leat_horizon *horizon, const struct leat_plan *plan,
                          const struct leat_plan_stage *stage) {
    uint64_t n_rows, n_bytes;

    leat_plan_holding(plan, stage, &n_rows, &n_bytes);
    horizon->n_rows += n_rows;
    if (stage->filter_column < 0 && stage->ops->evicts_above &&
        stage->ops->evicts_above(stage->config) > 0)
        horizon->n_rows = UINT64_MAX / 2; /* The stage takes a whole pass. */
}

void leat_horizon_init(struct leat_horizon *horizon, const struct leat_plan *plan,
                       const struct leat_run_options *options) {
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;
    uint64_t world_size = options->world_size ? options->world_size : 1;

    *horizon = (struct leat_horizon){
        .has_prefetch = plan->has_prefetch,
        .only_builds = options->only_builds,
        .reached = options->first_epoch,
        .made_epoch = options->first_epoch,
        .n_next = plan->prefetch_size * n_ranks,
    };
    if (plan->mixing) /* The number of rows of each source is unknown. */
        return;
    horizon->n_rows = plan->prefetch_size * world_size * plan->batch_size;
    for (size_t i = 0; i < plan->n_order; i++)
        add_held_rows(horizon, plan, plan->order[i]);
    horizon->n_rows += leat_batcher_holds(plan);
}

void leat_horizon_reach(struct leat_horizon *horizon, uint64_t epoch) {
    if (epoch > horizon->reached)
        horizon->reached = epoch;
}

void leat_horizon_count_made(struct leat_horizon *horizon, uint64_t epoch) {
    if (horizon->made_epoch != epoch)
        horizon->n_made = 0;
    horizon->made_epoch = epoch;
    horizon->n_made++;
}

uint64_t leat_horizon_max_ahead(const struct leat_horizon *horizon, uint64_t n_ready) {
    return horizon->has_prefetch ? n_ready + horizon->n_credit : n_ready;
}

static bool is_next(const struct leat_horizon *horizon, uint64_t epoch) {
    return epoch == horizon->reached + 1;
}

static bool is_beyond(const struct leat_horizon *horizon, uint64_t epoch) {
    return epoch > horizon->reached + 1;
}

/* True if n_records queued records are too few for the next epoch. */
static bool are_too_few(const struct leat_horizon *horizon, const struct leat_horizon_place *place,
                        uint64_t n_records) {
    uint64_t n_taken = is_next(horizon, place->epoch) ? place->n_epoch_rows : 0;

    return n_taken < horizon->n_rows && n_records < horizon->n_rows - n_taken;
}

bool leat_horizon_may_scan(const struct leat_horizon *horizon,
                           const struct leat_horizon_place *place,
                           const struct leat_block_queue *queue, uint64_t epoch) {
    uint64_t n_records;

    if (epoch <= horizon->reached || horizon->only_builds)
        return true;
    if (is_beyond(horizon, epoch) ||
        leat_horizon_is_reached(horizon, place->epoch, place->n_queued))
        return false;
    n_records = leat_block_queue_n_records(queue, epoch, true);
    return n_records == 0 || are_too_few(horizon, place, n_records);
}

bool leat_horizon_may_map(const struct leat_horizon *horizon,
                          const struct leat_horizon_place *place,
                          const struct leat_block_queue *queue,
                          const struct leat_queue_entry *entry) {
    if (entry->epoch <= horizon->reached || entry->parked)
        return true;
    if (is_beyond(horizon, entry->epoch) ||
        leat_horizon_is_reached(horizon, place->epoch, place->n_queued))
        return false;
    return entry == queue->first ||
           are_too_few(horizon, place, leat_block_queue_n_records(queue, entry->epoch, false));
}

bool leat_horizon_may_make(const struct leat_horizon *horizon, uint64_t epoch) {
    if (epoch <= horizon->reached)
        return true;
    return is_next(horizon, epoch) &&
           (horizon->made_epoch != epoch || horizon->n_made < horizon->n_next);
}
