/* plan_internal.h: the steps of building a plan, in order; shared by plan.c, plan_layout.c and
 * plan_digest.c only. */
#pragma once

#include "pipeline/plan.h"
#include "pipeline/planner.h"

/* Which stages are dead, which columns are needed and kept, what runs in MAP and what in ORDER
 * (plan_layout.c). */
int leat_plan_arrange(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err);
/* Tensors, batch and slot sizes (plan_layout.c). */
int leat_plan_lay_out(struct leat_plan *plan, const struct leat_planner *planner,
                      struct leat_error *err);
/* The digest of the bound spec (plan_digest.c). */
void leat_plan_digest(struct leat_plan *plan);
