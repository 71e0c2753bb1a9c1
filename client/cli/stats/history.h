/* history.h: what the daemon keeps of the last minutes and hours. */
#pragma once

#include "client/cli/base/arguments.h"

/* Prints the history of the last seconds, of the stream that the operand names or of all. Returns
 * an exit status. */
int leat_cli_history(const struct leat_cli_arguments *arguments, uint64_t seconds,
                     struct leat_error *err);
