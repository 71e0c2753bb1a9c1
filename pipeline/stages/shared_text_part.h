/* shared_text_part.h: a text with fields in braces, cut into literals and fields when it is
 * planned. `{Name}` is a field, `{{` and `}}` are braces. Immutable once compiled. */
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

/* Makes a part of a literal text. 0 or -ENOMEM. */
int leat_text_part_literal(struct leat_text_part *part, const char *text);

/* Compiles the index-th text of argument `arg`. names: fields by what the text calls them; may be
 * NULL. */
int leat_text_part_compile(struct leat_text_part *part, const struct leat_config *config,
                           const char *arg, size_t index, const char *text,
                           const struct leat_text_map *names, struct leat_planner *planner,
                           struct leat_error *err);
void leat_text_part_deinit(struct leat_text_part *part); /* of a zeroed one too */

/* Bytes of its literals. */
size_t leat_text_part_n_literal(const struct leat_text_part *part);
