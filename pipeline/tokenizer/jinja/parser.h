/* parser.h: makes the tree of a template. */
#pragma once

#include "pipeline/tokenizer/jinja/syntax.h"

/* Parses the template's `source`, n_bytes of valid UTF-8 with a NUL behind it. A construct that is
 * not supported is an error with line and column. 0, -EINVAL, -ENOMEM or -E2BIG. */
int leat_jinja_parse(struct leat_jinja_template *template, size_t n_bytes, struct leat_error *err);
