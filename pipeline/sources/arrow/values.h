/* arrow/values.h: frames of an Arrow file (pipeline/sources/arrow/layout.h) into the columns of a
 * block.
 *
 * Texts are views of the frames where nobody keeps them and they are UTF-8; all else is copied,
 * numbers into the field's dtype. A record whose value does not fit, or that has none where there
 * is no fallback, is bad. Pure; any thread.
 */
#pragma once

#include "pipeline/sources/arrow/layout.h"
#include "pipeline/sources/shared_jsonl_fields.h"

/* Field i is of slot i; those that are unusable have no column. */
struct leat_arrow_values {
    const struct leat_source_config *source;
    const struct leat_arrow_layout *layout;
    const struct leat_jsonl_fields *fields;
};

/* Whether the field can be had of the slot; if not, why: the text follows the column's name. */
const char *leat_arrow_values_check(const struct leat_jsonl_field *field,
                                    const struct leat_arrow_slot *slot);
/* What the field is if nobody says; false: it cannot be had. */
bool leat_arrow_values_infer(struct leat_jsonl_field *field, const struct leat_arrow_slot *slot);

/* All rows of the block; 0 or -ENOMEM. */
int leat_arrow_values_parse(const struct leat_arrow_values *values, struct leat_map *map);

/* A record as a JSON object. */
void leat_arrow_values_show(const struct leat_arrow_layout *layout, const uint8_t *record,
                            size_t n_bytes, struct leat_text *text);
