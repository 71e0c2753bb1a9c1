/* terminal.c: see terminal.h. */
#include "client/cli/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool leat_cli_terminal_is(FILE *file) {
    return isatty(fileno(file)) == 1;
}

static bool is_dumb(void) {
    const char *term = getenv("TERM");

    return !term || !term[0] || strcmp(term, "dumb") == 0;
}

bool leat_cli_terminal_has_colour(FILE *file) {
    const char *no_colour = getenv("NO_COLOR");

    return leat_cli_terminal_is(file) && !is_dumb() && !(no_colour && no_colour[0]);
}

bool leat_cli_terminal_has_screen(void) {
    return leat_cli_terminal_is(stdin) && leat_cli_terminal_is(stdout) && !is_dumb();
}
