/* idle_lanes.h: the lanes of the order none of whose batches a run makes. Its blocks are not read,
 * and its rows do not go through the order: their number says how many steps they are. Pure.
 */
#pragma once

#include "pipeline/plan/plan.h"
#include "pipeline/run/options.h"

/* True if the batches of a lane follow from its number of rows, and the run makes those of some of
 * several ranks. */
bool leat_idle_lanes_are_known(const struct leat_plan *plan,
                               const struct leat_run_options *options);
/* n_rows: [number of lanes], not ascending. */
void leat_idle_lanes_find(const struct leat_plan *plan, const struct leat_run_options *options,
                          const uint64_t *n_rows, bool *ret_is_idle);
/* The number of lanes that are not idle, expected before the blocks are dealt; all of them where it
 * is not known how many rows there are. */
size_t leat_idle_lanes_expect_busy(const struct leat_plan *plan,
                                   const struct leat_run_options *options);
