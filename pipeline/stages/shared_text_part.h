/* shared_text_part.h: a text with fields in braces, cut at plan time into literals and fields, for
 * stages that make texts. `{Name}` stands for a field, `{{` and `}}` for braces. Immutable once
 * compiled. */
#pragma once

#include "pipeline/stage/stage.h"

#define LEAT_TEXT_LITERAL_STEP 32

struct leat_text_piece {
    char *literal; /* in front of the field; padded to a multiple of LEAT_TEXT_LITERAL_STEP */
    uint32_t n_literal;
    int32_t column; /* -1: none, the literal ends the part */
};

struct leat_text_part {
    struct leat_text_piece *pieces;
    size_t n_pieces;
};

/* A part without fields, of just that text. 0 or -ENOMEM. */
int leat_text_part_literal(struct leat_text_part *part, const char *text);

/* Compiles the text, which is number `index` of the argument `arg`. names (NULL: none): what fields
 * are called in the text, and what they are in the schema. */
int leat_text_part_compile(struct leat_text_part *part, const struct leat_config *config,
                           const char *arg, size_t index, const char *text,
                           const struct leat_text_map *names, struct leat_planner *planner,
                           struct leat_error *err);
void leat_text_part_deinit(struct leat_text_part *part); /* of a zeroed one too */

/* Bytes of its literals. */
size_t leat_text_part_n_literal(const struct leat_text_part *part);
