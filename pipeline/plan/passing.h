/* passing.h: what has to be known of a block so that its rows may go through the order on the way
 * to the first step of a run, without being made. Pure: of the plan alone.
 *
 * Where neither a filter nor an order stage looks at what rows hold, and bad records end the
 * stream, the number of records is all: it is counted by cutting them.
 */
#pragma once

#include "pipeline/plan/plan.h"

struct leat_passing {
    bool is_blind;    /* the order asks how many rows there are, and nothing else of them */
    bool are_counted; /* and each record is a row */
    /* If not: because of that stage, or option; NULL: the order is blind, or rows are counted. */
    const char *looks, *drops;
};

void leat_plan_passing(const struct leat_plan *plan, struct leat_passing *ret_passing);
