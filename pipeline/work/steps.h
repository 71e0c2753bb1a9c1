/* steps.h: how many steps an epoch has, if that is known before its end.
 *
 * It follows from the number of rows of a pass, unless an order stage reads values
 * (leat_plan_fast_forward). That number is known once a cache or an index has all of the source.
 */
#pragma once

#include "pipeline/plan/plan.h"

#define LEAT_STEPS_REASON_MAX 192

struct leat_steps {
    bool is_known;
    uint64_t n;                         /* of all ranks, after `uneven`, with skipped ones */
    char reason[LEAT_STEPS_REASON_MAX]; /* why it is unknown; else "" */
    bool are_constant;                  /* All epochs of the same data have as many. */
};

/* Finds plan->n_rows in the plan's cache, or in its index, before the plan is shared. index_folder:
 * of streams that name none; NULL: none. Blocks. */
void leat_steps_find_rows(struct leat_plan *plan, const struct leat_opener *opener,
                          const char *index_folder);
/* Counts plan->n_rows if it is unknown, each record is a row, and the identified data has at most
 * LEAT_STEPS_COUNT_BYTES, uncompressed. Blocks for some tens of milliseconds. */
#define LEAT_STEPS_COUNT_BYTES (UINT64_C(32) << 20)
void leat_steps_count_rows(struct leat_plan *plan, const struct leat_opener *opener);
/* The steps of an epoch from its start, with world_size ranks. Pure. */
void leat_steps_of(const struct leat_plan *plan, uint64_t world_size, struct leat_steps *ret_steps);

/* Says how a run reaches a step in mid-epoch, as a part of a sentence: "by counting records".
 * has_index: there is a folder for indexes. */
void leat_steps_describe_start(const struct leat_plan *plan, bool has_index, char *text,
                               size_t size);
