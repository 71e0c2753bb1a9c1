/* terminal.c: see terminal.h. */
#include "client/cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool leat_cli_terminal_is(FILE *file) {
    return isatty(fileno(file)) == 1;
}

bool leat_cli_terminal_has_colour(FILE *file) {
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return leat_cli_terminal_is(file) && !(no_colour && no_colour[0]) && term &&
           strcmp(term, "dumb") != 0;
}
