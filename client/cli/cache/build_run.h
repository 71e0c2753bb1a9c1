/* build_run.h: a run that builds a cache, driven on a pool of threads in this process. */
#pragma once

#include "pipeline/run/pipeline.h"

struct leat_cli_built {
    struct leat_run_stats stats; /* without stages and texts */
    char name[128];              /* of the file */
    bool is_complete;
    uint64_t n_blocks, n_records, n_rows, n_bytes;
    uint64_t elapsed_ns;
};

/* options: only_builds and its companions; this function sets max_map_jobs and opener. n_workers 0:
 * one for each CPU. Shows progress if stderr is a terminal, unless hides_progress. 0 or -errno;
 * -EINTR: a signal, and the blocks that were built stay. */
int leat_cli_build(struct leat_plan *plan, const struct leat_run_options *options,
                   uint32_t n_workers, bool hides_progress, struct leat_cli_built *ret_built,
                   struct leat_error *err);
