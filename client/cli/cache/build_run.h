/* build_run.h: a run that builds a cache, driven on a pool of threads in this process. */
#pragma once

#include "pipeline/run/run.h"

struct leat_cli_built {
    struct leat_run_stats stats; /* stages and texts in it are gone */
    char name[128];              /* of the file */
    bool is_complete;
    uint64_t n_blocks, n_records, n_rows, n_bytes;
    uint64_t elapsed_ns;
};

/* options: only_builds and what goes with it; max_map_jobs, opener and now_ns are set here.
 * n_workers 0: as many as there are CPUs. Shows progress if stderr is a terminal and
 * hides_progress is false. 0 or -errno; -EINTR: a signal; what was built so far is kept. */
int leat_cli_build(struct leat_plan *plan, const struct leat_run_options *options,
                   uint32_t n_workers, bool hides_progress, struct leat_cli_built *ret_built,
                   struct leat_error *err);
