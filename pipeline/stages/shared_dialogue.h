/* shared_dialogue.h: texts of dialogues that stages write, and which parts of them the model is to
 * say (shared_loss.h). A writer collects them, keeps its memory from block to block, and copies
 * them into the block at its end.
 *
 * Owner: the config (struct leat_dialogue), the stage's workspace (the writer).
 */
#pragma once

#include "pipeline/stage/stage.h"

#define LEAT_DIALOGUE_ROW_BYTES_MAX   (UINT32_C(64) << 20)
#define LEAT_DIALOGUE_BLOCK_BYTES_MAX (UINT32_C(256) << 20)
#define LEAT_DIALOGUE_KEEP_BYTES      (UINT32_C(16) << 20) /* from block to block */

struct leat_dialogue {
    const char *output;

    uint32_t text_column, parts_column;
};

/* The row of `output` in the table of struct `owner`, whose `member` is a struct leat_dialogue. */
#define LEAT_DIALOGUE_ARG(owner, member)                                                           \
    LEAT_ARG_NAMED("output", owner, member.output, FIELD, "name of the field that gets the text",  \
                   .fallback = "text")

int leat_dialogue_plan(const struct leat_config *config, struct leat_dialogue *dialogue,
                       struct leat_planner *planner, struct leat_field **ret_field,
                       struct leat_error *err);

struct leat_dialogue_writer {
    uint8_t *bytes;
    size_t n_bytes, capacity;
    int32_t *parts; /* two numbers each, from the start of their text */
    size_t n_parts, parts_capacity;
    size_t row_start, row_parts, part_start;
    int failure; /* of the row: the first negative errno */
};

void leat_dialogue_writer_deinit(struct leat_dialogue_writer *writer);

/* Starts a block and makes its columns, but for the values. 0 or -ENOMEM. */
int leat_dialogue_begin(const struct leat_dialogue *dialogue, struct leat_dialogue_writer *writer,
                        struct leat_map *map);
void leat_dialogue_begin_row(struct leat_dialogue_writer *writer);
/* Appends to the row's text. A failure is kept until the end of the row. */
void leat_dialogue_put(struct leat_dialogue_writer *writer, const void *bytes, size_t n_bytes);
void leat_dialogue_put_text(struct leat_dialogue_writer *writer, const char *text);
/* These enclose what the model is to say. */
void leat_dialogue_open_part(struct leat_dialogue_writer *writer);
void leat_dialogue_close_part(struct leat_dialogue_writer *writer);
/* Ends a row; a bad row has no text. A text that is too long makes a bad record. 0 or -errno. */
int leat_dialogue_end_row(const struct leat_dialogue *dialogue, struct leat_dialogue_writer *writer,
                          struct leat_map *map, uint32_t row, bool is_bad, struct leat_error *err);
int leat_dialogue_end(const struct leat_dialogue *dialogue,
                      const struct leat_dialogue_writer *writer, struct leat_map *map,
                      struct leat_error *err);
