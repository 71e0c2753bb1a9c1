/* exit_status.h: what leatctl ends with. */
#pragma once

enum {
    LEAT_CLI_OK = 0,
    LEAT_CLI_FAILURE = 1,       /* it did not work; `check` found errors */
    LEAT_CLI_USAGE = 2,         /* the command line makes no sense */
    LEAT_CLI_DATA = 3,          /* a configuration or data file is wrong, at a place that is told */
    LEAT_CLI_NO_DAEMON = 4,     /* none was reached */
    LEAT_CLI_NO_RIGHT = 5,      /* the daemon or its socket refuses this user */
    LEAT_CLI_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

/* What each of these means, for help and reference; ends with a NULL text. */
struct leat_cli_exit {
    int status;
    const char *text;
};
extern const struct leat_cli_exit leat_cli_exits[];
