/* colour.h: what stands out on a terminal, where it may (terminal.h). */
#pragma once

#include <stdbool.h>

enum leat_cli_colour { LEAT_CLI_PLAIN, LEAT_CLI_BOLD, LEAT_CLI_RED };

/* What switches to that; "" if nothing is coloured. */
const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour);
