/* idle_lanes.c: see idle_lanes.h.
 *
 * As long as all lanes have batches, step s is of lane s mod lanes. Behind that, the steps are gone
 * through one by one, with the last round of the ranks: `uneven: pad` may repeat its batches.
 */
#include "pipeline/run/intake/idle_lanes.h"

#include <stdlib.h>

#define ROUNDS_MAX 4096 /* of lanes that are gone through */
#define DEALS      8

bool leat_idle_lanes_are_known(const struct leat_plan *plan,
                               const struct leat_run_options *options) {
    return plan->blocks.n_lanes > 1 && leat_run_options_are_of_some(options) &&
           leat_plan_fast_forward(plan).is_blind && !plan->has_repeat &&
           plan->skips.records.n_ranges == 0;
}

static uint64_t n_batches(const struct leat_plan *plan, uint64_t n_rows) {
    return n_rows / plan->batch_size + (!plan->drop_last && n_rows % plan->batch_size > 0);
}

static bool is_mine(const struct leat_run_options *options, uint64_t step) {
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;

    return step % options->world_size - options->first_rank < n_ranks;
}

/* The lanes of whole rounds that are the run's; after world_size rounds they come again. */
static void find_in_rounds(const struct leat_run_options *options, uint64_t n_lanes,
                           uint64_t n_rounds, bool *is_idle) {
    for (uint64_t round = 0; round < n_rounds && round < options->world_size; round++)
        for (uint64_t lane = 0; lane < n_lanes; lane++)
            is_idle[lane] &= !is_mine(options, round * n_lanes + lane);
}

void leat_idle_lanes_find(const struct leat_plan *plan, const struct leat_run_options *options,
                          const uint64_t *n_rows, bool *ret_is_idle) {
    uint64_t n_lanes = plan->blocks.n_lanes, n_steps = 0, step;
    uint64_t n_whole = n_batches(plan, n_rows[n_lanes - 1]), n_most = n_batches(plan, n_rows[0]);
    uint64_t round = options->world_size / n_lanes + 1;

    round = n_whole > round ? n_whole - round : 0;
    for (uint64_t lane = 0; lane < n_lanes; lane++) {
        n_steps += n_batches(plan, n_rows[lane]);
        ret_is_idle[lane] = n_most - round < ROUNDS_MAX && options->world_size < ROUNDS_MAX;
    }
    if (!ret_is_idle[0])
        return;
    find_in_rounds(options, n_lanes, n_whole, ret_is_idle);
    step = round * n_lanes;
    for (; round < n_most; round++)
        for (uint64_t lane = 0; lane < n_lanes && n_batches(plan, n_rows[lane]) > round; lane++) {
            bool may_repeat =
                plan->options.uneven == LEAT_UNEVEN_PAD && step + options->world_size >= n_steps;

            ret_is_idle[lane] &= !may_repeat && !is_mine(options, step);
            step++;
        }
}

/* The busy lanes, if so many of them have a block more than the others. */
static size_t count_busy(const struct leat_plan *plan, const struct leat_run_options *options,
                         uint64_t n_longer, uint64_t *n_rows, bool *is_idle) {
    uint64_t n_lanes = plan->blocks.n_lanes, size = plan->blocks.block_size;
    uint64_t n_blocks = plan->n_rows / size / n_lanes;
    size_t n_busy = 0;

    for (uint64_t lane = 0; lane < n_lanes; lane++)
        n_rows[lane] = (n_blocks + (lane < n_longer)) * size;
    leat_idle_lanes_find(plan, options, n_rows, is_idle);
    for (uint64_t lane = 0; lane < n_lanes; lane++)
        n_busy += !is_idle[lane];
    return n_busy;
}

/* Which lanes get the last, shorter blocks of files is drawn in each epoch. So the worst of some
 * deals counts. */
size_t leat_idle_lanes_expect_busy(const struct leat_plan *plan,
                                   const struct leat_run_options *options) {
    size_t n_lanes = leat_plan_n_lanes(plan), n_most = 0;
    uint64_t *n_rows;
    bool *is_idle;

    if (!leat_idle_lanes_are_known(plan, options) || !plan->has_n_rows)
        return n_lanes;
    n_rows = calloc(n_lanes, sizeof(*n_rows));
    is_idle = calloc(n_lanes, sizeof(*is_idle));
    for (size_t i = 0; n_rows && is_idle && i < DEALS; i++) {
        size_t n = count_busy(plan, options, i * n_lanes / DEALS, n_rows, is_idle);

        n_most = n > n_most ? n : n_most;
    }
    free(n_rows);
    free(is_idle);
    return n_most > 0 ? n_most : n_lanes;
}
