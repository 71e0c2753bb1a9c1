/* skip_records.h: `skip_records` of a stream, from what is written to numbers of records. */
#pragma once

#include "pipeline/plan/plan.h"

/* Adds the records to the plan's skips, before the plan is shared. Reads the data in front of each
 * line that is named, so it may block. Errors name the item. */
int leat_skip_records_load(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err);
