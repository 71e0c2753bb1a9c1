/* pulling.h: what `run`, `pull` and `dump` have in common: a stream as their options ask for it,
 * and the exit status of what becomes of it. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/arguments.h"
#include "client/launcher.h"
#include "client/leat.h"
#include "proto/position.h"

struct leat_cli_pulling {
    const struct leat_cli_arguments *arguments;
    const char *address; /* NULL: search */
    const char *stream;
    struct leat_ranks ranks;
    bool is_private;                        /* the daemon: it does not come back */
    bool was_lost;                          /* the connection: what the daemon counts is not all */
    char position[LEAT_POSITION_TEXT_SIZE]; /* "": none */
};

/* Reads ranks and position from the arguments. LEAT_CLI_OK, or a status with err set. */
int leat_cli_pulling_check(struct leat_cli_pulling *pulling, struct leat_error *err);
/* Opens the stream; connections that are lost are told on standard error. 0 or -errno; -EINTR: a
 * signal came. */
int leat_cli_pulling_open(struct leat_cli_pulling *pulling, struct leat_client *client,
                          struct leat_stream **ret_stream, struct leat_error *err);
/* The exit status of a result: r < 0 with its error, before the stream was opened or after. */
int leat_cli_pulling_status(int r, const struct leat_error *err, bool was_opened);
