/* shared_parts.h: lists of a record that chunk and pack cut in step: ids, token types and labels,
 * say. They have equally many elements in every record. Immutable after planning; any thread. */
#pragma once

#include "pipeline/stage/planner.h"

#define LEAT_PARTS_MAX 32

struct leat_parts {
    uint32_t from[LEAT_PARTS_MAX]; /* columns that are cut; may be parts already */
    uint32_t to[LEAT_PARTS_MAX];   /* their parts */
    uint32_t of[LEAT_PARTS_MAX];   /* where the elements stand in the block */
    size_t n;
    bool are_cut; /* by chunk: `from` has no values */
};

/* Finds the lists of argument `fields`; none may be padded or text. */
int leat_parts_find(struct leat_parts *parts, struct leat_planner *planner,
                    const struct leat_config *config, const struct leat_texts *fields,
                    struct leat_error *err);
/* Adds a column for the parts of list i under its present name, with unknown lengths. */
int leat_parts_add(struct leat_parts *parts, struct leat_planner *planner,
                   const struct leat_config *config, const struct leat_texts *fields, size_t i,
                   struct leat_field **ret_field, struct leat_error *err);

/* Rejects rows whose lists are not equally long. */
void leat_parts_check(const struct leat_parts *parts, struct leat_map *map);
