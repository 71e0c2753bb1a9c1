/* commands.c: see commands.h. */
#include "client/cli/commands.h"

#define LEAT_CLI_COMMAND(name) extern const struct leat_cli_command leat_cli_##name##_command;
#include "client/cli/commands.def"
#undef LEAT_CLI_COMMAND

const struct leat_cli_command *const leat_cli_commands[] = {
#define LEAT_CLI_COMMAND(name) &leat_cli_##name##_command,
#include "client/cli/commands.def"
#undef LEAT_CLI_COMMAND
    NULL,
};
