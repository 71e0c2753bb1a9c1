/* data_text.h: what the data of a plan is (data_digest.h) as text, to tell later what has changed:
 * a line for each file, with its size, its hashes, and its name as it was written. */
#pragma once

#include "pipeline/plan/data_digest.h"
#include "proto/base/text.h"

#define LEAT_DATA_TEXT_MAX (4U << 20) /* bytes; files that find no room are counted */

/* malloc'ed; NULL when memory is out. plan->data is there. */
char *leat_data_text(const struct leat_plan *plan);

/* Adds in words what differs: "data.csv had 1,234 bytes, has 1,250". Nothing, if nothing does that
 * can be seen from the texts. Both may be any text. */
void leat_data_text_compare(const char *old, const char *new, struct leat_text *text);
