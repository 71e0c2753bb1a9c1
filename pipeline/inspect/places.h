/* places.h: the places of the rows of a batch in the data: files, lines, bytes, numbers of records.
 *
 * The order is computed as for any batch; then the records of its rows are found in the data.
 * Blocks; one thread.
 */
#pragma once

#include "pipeline/plan/plan.h"

struct leat_place {
    uint32_t row, part;       /* part: of a packed row, from 0 */
    uint32_t file;            /* of the plan */
    uint64_t record;          /* number within a pass of its source, from 0 */
    uint64_t line, n_lines;   /* the first line, from 1, and their number */
    uint64_t offset, n_bytes; /* in the file, or its text; without the line end */
    uint32_t start, length;   /* range of its lists; length LEAT_PLACE_WHOLE: all */
};
#define LEAT_PLACE_WHOLE UINT32_MAX

struct leat_places {
    struct leat_place *places; /* by row and part */
    size_t n_places;
    uint32_t n_rows;
};

struct leat_places_options {
    uint64_t epoch, step;
    uint64_t world_size; /* for a step that `uneven: pad` makes; 0 counts as 1 */
    bool has_seed;
    uint64_t seed; /* replaces the stream's own */
};

/* -ERANGE: there is no such step; -ENODATA: it is left out. */
int leat_places_find(struct leat_plan *plan, const struct leat_opener *opener,
                     const struct leat_places_options *options, struct leat_places *ret_places,
                     struct leat_error *err);
void leat_places_deinit(struct leat_places *places);
