/* arg_json.h: writes tables of arguments as JSON, for references, completion and other
 * languages. */
#pragma once

#include "pipeline/spec/bind.h"
#include "proto/base/text.h"

/* "int", "list of texts". */
const char *leat_arg_type_name(enum leat_arg_type type);
/* [{"name": .., "type": .., "required": .., ..}, ...]; groups have `arguments` of their own. key:
 * as of the writer (json_writer.h). */
void leat_args_json(struct leat_text *json, const char *key, const struct leat_arg *args);
