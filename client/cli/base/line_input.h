/* line_input.h: lines of the standard input, of any bytes. Owner: the one thread.
 *
 * The standard output is flushed before each read, so that a program at the other end of two pipes
 * gets the answer to each line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/json.h"
#include "proto/base/error.h"
#include "proto/base/text.h"

#define LEAT_CLI_LINE_MAX     (UINT32_C(1) << 30)
#define LEAT_CLI_LINE_PADDING 64 /* readable bytes behind a line */

struct leat_cli_lines {
    int fd;
    char *data;
    size_t capacity;
    size_t start, end; /* of the bytes that were read and not taken yet */
    size_t n_scanned;  /* of these, without an end of line */
    bool has_ended;
    uint64_t number; /* of the last line, from 1 */
};

/* The next line without its '\n', valid until the next call. 1; 0: there is none; -errno: input or
 * output failed, or a line is longer than LEAT_CLI_LINE_MAX. */
int leat_cli_lines_next(struct leat_cli_lines *lines, const char **ret_line, size_t *ret_n,
                        struct leat_error *err);
void leat_cli_lines_deinit(struct leat_cli_lines *lines);

/* Locates an error in the last line of the standard input. */
void leat_cli_lines_locate(const struct leat_cli_lines *lines, struct leat_error *err);

/* Prints the answer to a line, with a line end, and empties its text. 0 or -errno. */
int leat_cli_lines_answer(struct leat_text *answer, struct leat_error *err);

/* Requests of programs: a line of JSON with an object, and its typed members.
 * Owner: the one thread. */
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
