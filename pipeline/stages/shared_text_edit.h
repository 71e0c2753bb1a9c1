/* shared_text_edit.h: what stages that change a text share: arguments, schema, and writing the
 * changed texts of a block. Owner: the config; maps run in any thread. */
#pragma once

#include "pipeline/stage/stage.h"
#include "pipeline/tokenizer/text.h"

struct leat_text_edit {
    const char *input;
    const char *output; /* NULL: the same name */

    uint32_t from, to;
};

/* Bytes that a stage may make of one block beyond what it read. */
#define LEAT_TEXT_EDIT_MORE_MAX (UINT32_C(256) << 20)

/* Rows of the table of `struct owner`, whose `member` is a struct leat_text_edit. */
#define LEAT_TEXT_EDIT_ARGS(owner, member)                                                         \
    LEAT_ARG_NAMED("input", owner, member.input, FIELD, "the field with the text",                 \
                   .is_required = true, .is_positional = true),                                    \
        LEAT_ARG_NAMED("output", owner, member.output, FIELD,                                      \
                       "name of the result; default: the name of the input")

/* The beginning of such a stage's config, and its plan. */
struct leat_text_edit_config {
    struct leat_config base;
    struct leat_text_edit edit;
};
int leat_text_edit_plan(struct leat_config *config, struct leat_planner *planner,
                        struct leat_error *err);

/* Writes the result of one row; returns where it ends. */
typedef uint8_t *leat_text_edit_fn(const struct leat_config *config, uint8_t *to,
                                   const uint8_t *text, uint32_t n_bytes);
/* Writes the results of all rows, which have n_max bytes at most. 0 or -errno. */
int leat_text_edit_map(const struct leat_config *config, const struct leat_text_edit *edit,
                       struct leat_map *map, size_t n_max, leat_text_edit_fn *put,
                       struct leat_error *err);

/* Matches in the texts of a block, which something else takes the place of. Owner: the job. */
struct leat_text_places {
    uint32_t *n_places;        /* [n_rows], in scratch memory */
    struct leat_range *ranges; /* of all rows, ascending in each */
    size_t n_ranges, capacity;
};

int leat_text_places_add(struct leat_text_places *places, uint32_t row, struct leat_range range);
/* Finds the places of all rows; 0 or -ENOMEM. */
typedef int leat_text_places_fn(const struct leat_config *config, struct leat_map *map,
                                struct leat_text_places *places);
/* Writes the result: the texts with `with` at all places that are found. */
int leat_text_edit_replace(const struct leat_config *config, const struct leat_text_edit *edit,
                           struct leat_map *map, leat_text_places_fn *find, const char *with,
                           struct leat_error *err);
