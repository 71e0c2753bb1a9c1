/* schema.h: what the comments of proto/leat.proto say of its messages and their fields.
 *
 * A comment in lines of its own belongs to what follows; one behind a field to that, with the lines
 * of nothing but a comment below it that begin no further left.
 */
#pragma once

#include "pipeline/plan/render.h"

extern const char leat_schema_text[]; /* the file */

/* The comment of that message, or (field not NULL) of a field of it; nothing if it has none. In one
 * line. */
void leat_cli_schema_comment(struct leat_text *text, const char *message, const char *field);
