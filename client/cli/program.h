/* program.h: leatctl: its commands, and the program that runs one. No command knows this list. */
#pragma once

#include "client/cli/base/arguments.h"

extern const struct leat_cli_command *const leat_cli_commands[]; /* ends with NULL */

/* The whole program: an exit status. */
int leat_cli_main(int argc, char **argv);
