#include "pipeline/run/options.h"

#include <errno.h>

#include "pipeline/plan/plan.h"

static int check_ranks(const struct leat_run_options *options, struct leat_error *err) {
    uint64_t world_size = options->world_size ? options->world_size : 1;
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;

    if (options->first_rank >= world_size)
        return leat_error_set(err, -EINVAL, "rank %llu is outside 0..%llu",
                              (unsigned long long)options->first_rank,
                              (unsigned long long)world_size - 1);
    if (n_ranks > world_size - options->first_rank)
        return leat_error_set(
            err, -EINVAL,
            "%llu ranks from rank %llu on are requested, but the world has only %llu ranks",
            (unsigned long long)n_ranks, (unsigned long long)options->first_rank,
            (unsigned long long)world_size);
    return 0;
}

/* A source that comes through a FIFO has one epoch, from its start. An n_epochs of 0 is accepted,
 * and gives that one. */
static int check_passes(const struct leat_run_options *options, const struct leat_plan *plan,
                        struct leat_error *err) {
    const char *path = plan->source->files.paths[0];

    if (!plan->is_one_pass)
        return 0;
    if (options->first_epoch > 0 || options->first_step > 0)
        return leat_error_set(err, -ESPIPE,
                              "%s: a FIFO can be read only once, so the stream cannot resume at "
                              "epoch %llu, step %llu",
                              path, (unsigned long long)options->first_epoch,
                              (unsigned long long)options->first_step);
    if (options->n_epochs > 1)
        return leat_error_set(err, -ESPIPE,
                              "%s: a FIFO can be read only once, so it has one epoch, not %llu",
                              path, (unsigned long long)options->n_epochs);
    return 0;
}

bool leat_run_options_are_of_some(const struct leat_run_options *options) {
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;

    return n_ranks < options->world_size && !options->only_builds && !options->only_places &&
           options->on_change != LEAT_ON_CHANGE_WARN && options->on_change != LEAT_ON_CHANGE_FOLLOW;
}

int leat_run_options_check(const struct leat_run_options *options, const struct leat_plan *plan,
                           struct leat_error *err) {
    int r = check_ranks(options, err);

    if (r == 0)
        r = leat_skips_check_rounds(&plan->skips, options->world_size, options->first_epoch,
                                    options->round_phase, err);
    return r < 0 ? r : check_passes(options, plan, err);
}
