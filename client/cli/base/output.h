/* output.h: what goes to a terminal, a file or a pipe: whole texts, and colours where they are
 * seen. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "proto/base/text.h"

/* Writes the text to the standard output, or to the file, and frees it. */
void leat_cli_print(struct leat_text *text);
void leat_cli_print_to(struct leat_text *text, FILE *file);

/* True if a text so far that was not for the standard error was incomplete, as memory ran out while
 * it was made. */
bool leat_cli_print_failed(void);

bool leat_cli_terminal_is(FILE *file);
/* True if the file is a terminal that may be coloured ($NO_COLOR, $TERM). */
bool leat_cli_terminal_has_colour(FILE *file);
/* True if standard input and output are one terminal that can be drawn on. */
bool leat_cli_terminal_has_screen(void);

enum leat_cli_colour { LEAT_CLI_PLAIN, LEAT_CLI_BOLD, LEAT_CLI_RED };

/* The sequence that switches to the colour (ECMA-48, "Select Graphic Rendition"); "" if nothing is
 * coloured. */
const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour);
