/* run/knob_turns.c: turns a run's knobs.
 *
 * None of them is part of what the batches depend on: pieces of another size are cut at other
 * records, but rows keep their order; where more or fewer blocks or batches are under way, they
 * come in the same order. What is out already is left as it is.
 */
#include "pipeline/run/run_internal.h"

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

uint64_t leat_run_lane_jobs(const struct leat_run *run, uint64_t n_jobs) {
    size_t n = run->plan->mixing->n_lanes;

    return (n_jobs + n - 1) / n;
}

/* What the next blocks will take is reckoned from the latest, of the size before. */
static void scale(uint64_t *estimate, uint64_t before, uint64_t after) {
    if (after > before)
        *estimate = (uint64_t)((unsigned __int128)*estimate * after / before);
}

static void scale_memory(struct leat_run *run, uint64_t before, uint64_t after) {
    scale(&run->memory.buffer_estimate, before, after);
    scale(&run->memory.block_estimate, before, after);
    scale(&run->memory.scratch_estimate, before, after);
}

void leat_run_set_knobs(struct leat_run *run, const struct leat_knobs *knobs) {
    uint64_t block_bytes = run->knobs.of[LEAT_KNOB_BLOCK_BYTES];
    struct leat_knobs lane;

    run->knobs = *knobs;
    leat_knobs_clamp(&run->knobs);
    scale_memory(run, block_bytes, run->knobs.of[LEAT_KNOB_BLOCK_BYTES]);
    lane = run->knobs;
    for (size_t i = 0; i < run->n_lanes; i++) {
        lane.of[LEAT_KNOB_JOBS] = leat_run_lane_jobs(run, run->knobs.of[LEAT_KNOB_JOBS]);
        leat_run_set_knobs(run->lanes[i], &lane);
    }
}

void leat_run_get_knobs(const struct leat_run *run, struct leat_knobs *ret_knobs) {
    *ret_knobs = run->knobs;
}

size_t leat_run_slot_room(const struct leat_run *run) {
    uint64_t limit = leat_run_max_ahead(run);
    size_t n = run->n_ahead < limit ? (size_t)limit - run->n_ahead : 0;

    return n < run->slots.n_slots ? n : run->slots.n_slots;
}
