/* json_request.h: requests of programs: a line of JSON with an object, and its typed members.
 * Owner: the one thread. */
#pragma once

#include <stdbool.h>

#include "pipeline/tokenizer/json.h"

/* Parses a line, which must be an object and padded as in line_input.h. 0 or -errno. */
int leat_cli_request_parse(struct leat_json *json, const char *line, size_t n_bytes,
                           struct leat_json_node *ret_object, struct leat_error *err);

/* Finds a member of that kind. 1; 0: it is absent or null; -EINVAL. */
int leat_cli_request_member(struct leat_json_node object, const char *key, enum leat_json_kind kind,
                            struct leat_json_node *ret_member, struct leat_error *err);
/* Finds a member that must be there. 0 or -EINVAL. */
int leat_cli_request_required(struct leat_json_node object, const char *key,
                              enum leat_json_kind kind, struct leat_json_node *ret_member,
                              struct leat_error *err);
/* Reads a boolean; if it is absent, *value stays. 0 or -EINVAL. */
int leat_cli_request_bool(struct leat_json_node object, const char *key, bool *value,
                          struct leat_error *err);
