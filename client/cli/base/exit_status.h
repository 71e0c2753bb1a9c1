/* exit_status.h: how leatctl ends: its exit status, and errors for programs. */
#pragma once

#include "proto/base/error.h"
#include "proto/base/text.h"

enum {
    LEAT_CLI_OK = 0,
    LEAT_CLI_FAILURE = 1,   /* the command failed; `check` found errors */
    LEAT_CLI_USAGE = 2,     /* the command line makes no sense */
    LEAT_CLI_DATA = 3,      /* a configuration or data file is wrong, and the error says where */
    LEAT_CLI_NO_DAEMON = 4, /* no daemon was reached */
    LEAT_CLI_NO_RIGHT = 5,  /* the daemon or its socket refuses this user */
    LEAT_CLI_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

/* The table explains each status for help and reference; it ends with a NULL text. */
struct leat_cli_exit {
    int status;
    const char *text;
};
extern const struct leat_cli_exit leat_cli_exits[];

/* LEAT_CLI_DATA if the error has a place in a file or configuration, else LEAT_CLI_FAILURE. */
int leat_cli_error_status(const struct leat_error *err);
/* {"code": -2, "file": .., "line": .., "column": .., "path": .., "message": .., "text": ..} */
void leat_cli_error_json(struct leat_text *json, const char *key, const struct leat_error *err);
