/* history.h: what the daemon keeps of the last minutes and hours. */
#pragma once

#include "client/cli/base/arguments.h"

/* Of the stream that the operand names, or of all, of the last seconds. An exit status. */
int leat_cli_history(const struct leat_cli_arguments *arguments, uint64_t seconds,
                     struct leat_error *err);
