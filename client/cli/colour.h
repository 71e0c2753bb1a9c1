/* colour.h: what stands out on a terminal. Elsewhere, and where the user wants none (NO_COLOR, see
 * no-color.org, or TERM=dumb), texts are plain. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum leat_cli_colour { LEAT_CLI_PLAIN, LEAT_CLI_BOLD, LEAT_CLI_RED };

/* Whether what is written there may be coloured. */
bool leat_cli_is_coloured(FILE *file);
/* What switches to that; "" if nothing is coloured. */
const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour);
