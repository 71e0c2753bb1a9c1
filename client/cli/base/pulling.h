/* pulling.h: a stream as the options of `run`, `pull` and `dump` ask for it, and the exit status of
 * the outcome. Owner: the one thread.
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
    bool is_private; /* the daemon is ours and does not come back */
    bool was_lost;   /* the connection was lost: the daemon counted only a part */
    char position[LEAT_POSITION_TEXT_SIZE]; /* "": none */
};

/* Reads ranks and position from the arguments. LEAT_CLI_OK, or a status with err set. */
int leat_cli_pulling_check(struct leat_cli_pulling *pulling, struct leat_error *err);
/* Opens the stream; lost connections are reported on standard error. 0 or -errno; -EINTR: a signal
 * came. */
int leat_cli_pulling_open(struct leat_cli_pulling *pulling, struct leat_client *client,
                          struct leat_stream **ret_stream, struct leat_error *err);
/* Loads the stream of the FILE, starts a private daemon for it, and calls pull(), whose exit status
 * this returns. */
int leat_cli_pulling_file(struct leat_cli_pulling *pulling,
                          int (*pull)(struct leat_cli_pulling *pulling, struct leat_error *err),
                          struct leat_error *err);
/* The exit status of r, which is 0 or the code of err. */
int leat_cli_pulling_status(int r, const struct leat_error *err, bool was_opened);
