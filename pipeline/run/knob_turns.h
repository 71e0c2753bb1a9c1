/* knob_turns.h: values of a run's knobs.
 *
 * None of them is part of what the batches depend on: pieces of another size are cut at other
 * records, but rows keep their order; where more or fewer blocks or batches are under way, they
 * come in the same order. What is out already is left as it is.
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/work/knobs.h"

/* As they are unless somebody turns them: n_jobs is max_map_jobs. */
void leat_run_default_knobs(const struct leat_plan *plan, uint32_t n_jobs,
                            struct leat_knobs *ret_knobs);
