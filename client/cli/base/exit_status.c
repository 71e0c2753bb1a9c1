/* exit_status.c: see exit_status.h. */
#include "client/cli/base/exit_status.h"

#include <stddef.h>

const struct leat_cli_exit leat_cli_exits[] = {
    {LEAT_CLI_OK, "ok"},
    {LEAT_CLI_FAILURE, "failure"},
    {LEAT_CLI_USAGE, "usage"},
    {LEAT_CLI_DATA, "a file is wrong"},
    {LEAT_CLI_NO_DAEMON, "no daemon was reached"},
    {LEAT_CLI_NO_RIGHT, "no right to ask it"},
    {LEAT_CLI_INTERRUPTED, "interrupted"},
    {0, NULL},
};
