/* json_request.h: a line of JSON with the wishes of a program: typed members of an object. Owner:
 * the one thread.
 */
#pragma once

#include <stdbool.h>

#include "pipeline/tokenizer/json.h"

/* Parses a line, which must be an object; padded as line_input.h says. 0 or -errno. */
int leat_cli_request_parse(struct leat_json *json, const char *line, size_t n_bytes,
                           struct leat_json_node *ret_object, struct leat_error *err);

/* A member of that kind; null is as good as absent. 1; 0: it is absent; -EINVAL. */
int leat_cli_request_member(struct leat_json_node object, const char *key, enum leat_json_kind kind,
                            struct leat_json_node *ret_member, struct leat_error *err);
/* The same, for what must be there: 0 or -EINVAL. */
int leat_cli_request_required(struct leat_json_node object, const char *key,
                              enum leat_json_kind kind, struct leat_json_node *ret_member,
                              struct leat_error *err);
/* A boolean; absent: *value stays. 0 or -EINVAL. */
int leat_cli_request_bool(struct leat_json_node object, const char *key, bool *value,
                          struct leat_error *err);
