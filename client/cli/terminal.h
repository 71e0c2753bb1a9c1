/* terminal.h: whether what is printed goes to a terminal, and may be coloured. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

bool leat_cli_terminal_is(FILE *file);
/* A terminal that is not dumb, and nobody has set NO_COLOR (https://no-color.org). */
bool leat_cli_terminal_has_colour(FILE *file);
/* Standard input and output are one that can be drawn on. */
bool leat_cli_terminal_has_screen(void);
