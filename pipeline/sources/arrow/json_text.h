/* json_text.h: values of Arrow arrays as JSON text. Pure; any thread. */
#pragma once

#include "pipeline/sources/arrow/array.h"
#include "proto/base/text.h"

/* Appends a number. */
void leat_arrow_json_number(struct leat_text *text, enum leat_arrow_number number,
                            const uint8_t *bytes);
/* Appends the row's value, without blanks: structs as objects, maps as lists of their entries,
 * numbers as Python prints them, those that JSON does not have as null. It may stop in the middle
 * once the text has more than max_bytes. Bytes of text that are no UTF-8 stay as they are. */
void leat_arrow_json(struct leat_text *text, const struct leat_arrow_array *array, uint64_t row,
                     size_t max_bytes);
