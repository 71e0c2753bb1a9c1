/* terminal.h: whether what is printed goes to a terminal, and one that can be drawn on. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

bool leat_cli_terminal_is(FILE *file);
/* And that colours may be written there ($NO_COLOR, $TERM). */
bool leat_cli_terminal_has_colour(FILE *file);
/* Standard input and output are one that can be drawn on. */
bool leat_cli_terminal_has_screen(void);
