/* options.c: see options.h. */
#include "pipeline/run/options.h"

#include <errno.h>

#include "proto/base/error.h"

int leat_run_options_check(const struct leat_run_options *options, struct leat_error *err) {
    uint64_t world_size = options->world_size ? options->world_size : 1;
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;

    if (options->first_rank >= world_size)
        return leat_error_set(err, -EINVAL, "rank %llu is outside 0..%llu",
                              (unsigned long long)options->first_rank,
                              (unsigned long long)world_size - 1);
    if (n_ranks > world_size - options->first_rank)
        return leat_error_set(err, -EINVAL, "%llu ranks from rank %llu on: there are %llu",
                              (unsigned long long)n_ranks, (unsigned long long)options->first_rank,
                              (unsigned long long)world_size);
    return 0;
}
