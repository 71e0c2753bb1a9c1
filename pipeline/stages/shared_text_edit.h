/* shared_text_edit.h: what stages that change a text have in common: arguments, schema, and writing
 * the changed texts of a block. Owner: the config; maps run in any thread. */
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
    {.name = "input",                                                                              \
     .type = LEAT_ARG_FIELD,                                                                       \
     .offset = offsetof(struct owner, member.input),                                               \
     .is_required = true,                                                                          \
     .is_positional = true,                                                                        \
     .help = "the text"},                                                                          \
    {                                                                                              \
        .name = "output", .type = LEAT_ARG_FIELD, .offset = offsetof(struct owner, member.output), \
        .help = "name of the result; left out: the same name"                                      \
    }

int leat_text_edit_plan(const struct leat_config *config, struct leat_text_edit *edit,
                        struct leat_planner *planner, struct leat_error *err);

/* Bytes of all texts of the input. */
size_t leat_text_edit_n_bytes(const struct leat_text_edit *edit, const struct leat_map *map);
/* Memory for the result: views and n_bytes. 0 or -errno. */
int leat_text_edit_begin(const struct leat_text_edit *edit, struct leat_map *map, size_t n_bytes,
                         struct leat_error *err);

/* Places of texts that something is to be put in for. Owner: the job. */
struct leat_text_places {
    uint32_t *n_places;        /* [n_rows], in scratch memory */
    struct leat_range *ranges; /* of all rows, ascending in each */
    size_t n_ranges, capacity;
};

int leat_text_places_init(struct leat_text_places *places, struct leat_map *map);
void leat_text_places_deinit(struct leat_text_places *places);
int leat_text_places_add(struct leat_text_places *places, uint32_t row, struct leat_range range);

/* Writes the result: the texts with `with` at all the places. */
int leat_text_edit_replace(const struct leat_text_edit *edit, struct leat_map *map,
                           const struct leat_text_places *places, const char *with, size_t n_with,
                           struct leat_error *err);
