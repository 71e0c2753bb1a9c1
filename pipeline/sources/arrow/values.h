/* arrow/values.h: stripes of an Arrow file (layout.h) into the columns of a block.
 *
 * Texts are views of the stripes if the column is not kept and they are UTF-8; all else is copied,
 * numbers into the field's dtype. A record is bad if a value does not fit, or is missing without a
 * fallback. Pure; any thread.
 */
#pragma once

#include "pipeline/sources/arrow/stripe.h"
#include "pipeline/sources/shared_jsonl_fields.h"

/* Field i is of slot i; unusable fields have no column. */
struct leat_arrow_values {
    const struct leat_source_config *source;
    const struct leat_arrow_layout *layout;
    const struct leat_jsonl_fields *fields;
};

/* Returns NULL if the field can be read from the slot, else why not: a text that follows the
 * column's name. */
const char *leat_arrow_values_check(const struct leat_jsonl_field *field,
                                    const struct leat_arrow_slot *slot);
/* Infers the field from the slot. False: it cannot be read. */
bool leat_arrow_values_infer(struct leat_jsonl_field *field, const struct leat_arrow_slot *slot);

/* Fills the columns of all rows of the block. 0 or -ENOMEM. */
int leat_arrow_values_parse(const struct leat_arrow_values *values, struct leat_map *map);

/* Writes a record, a frame without its tail, as a JSON object. */
void leat_arrow_values_show(const struct leat_arrow_layout *layout, const uint8_t *record,
                            size_t n_bytes, struct leat_text *text);
