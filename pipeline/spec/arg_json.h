/* arg_json.h: tables of arguments as JSON, for references, completion and other languages. */
#pragma once

#include "pipeline/spec/bind.h"
#include "proto/base/text.h"

/* "int", "list of texts". */
const char *leat_arg_type_name(enum leat_arg_type type);
/* , "name": "value" within an object, or null. */
void leat_arg_json_text(struct leat_text *text, const char *name, const char *value);
/* [{"name": .., "type": .., "required": .., ..}, ...]; groups have `arguments` of their own. */
void leat_args_json(struct leat_text *text, const struct leat_arg *args);
