/* knob_turns.c: see knob_turns.h. */
#include "pipeline/run/knob_turns.h"

#include "pipeline/work/job.h"

void leat_run_default_knobs(const struct leat_plan *plan, uint32_t n_jobs,
                            struct leat_knobs *ret_knobs) {
    const struct leat_stream_options *options = &plan->options;

    ret_knobs->of[LEAT_KNOB_BLOCK_BYTES] = (uint64_t)options->block_bytes;
    ret_knobs->of[LEAT_KNOB_JOBS] =
        options->jobs_in_flight ? (uint64_t)options->jobs_in_flight : n_jobs;
    ret_knobs->of[LEAT_KNOB_AHEAD] = leat_knob_max(LEAT_KNOB_AHEAD);
    ret_knobs->of[LEAT_KNOB_COLLATED] = leat_collate_max(plan);
    leat_knobs_clamp(ret_knobs);
}
