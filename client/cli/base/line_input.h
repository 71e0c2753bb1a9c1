/* line_input.h: lines of the standard input, of any bytes. Owner: the one thread.
 *
 * The standard output is flushed before each read, so that a program at the other end of two pipes
 * gets the answer to each line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

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
