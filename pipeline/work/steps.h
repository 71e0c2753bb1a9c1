/* steps.h: how many steps an epoch has, where that can be known before it has ended.
 *
 * It follows from the number of rows of a pass where no order stage looks at what rows hold
 * (passing.h). That number is known once a cache or an index has all of the source.
 */
#pragma once

#include "pipeline/plan/plan.h"

#define LEAT_STEPS_REASON_MAX 192

struct leat_steps {
    bool is_known;
    uint64_t n;                         /* over all ranks, as `uneven` leaves them; with those that
                                           are skipped */
    char reason[LEAT_STEPS_REASON_MAX]; /* why it is not known; else "" */
    bool are_constant; /* each epoch of the same data has as many as the first one that was read */
};

/* Looks for the rows of a pass in the plan's cache, or in its index (index_folder: of streams that
 * name none; NULL: there is none): plan->n_rows, before the plan is shared. Blocks. */
void leat_steps_look(struct leat_plan *plan, const struct leat_opener *opener,
                     const char *index_folder);
/* If nobody knows yet, and the records of the plan's data, which is identified, are soon counted
 * (each is a row, in files of LEAT_STEPS_COUNT_BYTES at most, as they are), does that. Blocks for
 * some tens of milliseconds. */
#define LEAT_STEPS_COUNT_BYTES (UINT64_C(32) << 20)
void leat_steps_count(struct leat_plan *plan, const struct leat_opener *opener);
/* Pure. Of an epoch from its start, with so many ranks. */
void leat_steps_of(const struct leat_plan *plan, uint64_t world_size, struct leat_steps *ret_steps);

/* "by counting records": how what lies before a step in mid-epoch is passed over; a part of a
 * sentence. has_index: there is a folder for indexes. */
void leat_steps_describe_start(const struct leat_plan *plan, bool has_index, char *text,
                               size_t size);
