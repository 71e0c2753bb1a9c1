/* colour.c: see colour.h, and "Select Graphic Rendition" in ECMA-48. */
#include "client/cli/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool leat_cli_is_coloured(FILE *file) {
    const char *unwanted = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return !(unwanted && unwanted[0]) && terminal && strcmp(terminal, "dumb") != 0 &&
           isatty(fileno(file)) == 1;
}

const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour) {
    static const char *const codes[] = {
        [LEAT_CLI_PLAIN] = "\033[0m",
        [LEAT_CLI_BOLD] = "\033[1m",
        [LEAT_CLI_RED] = "\033[1;31m",
    };

    return is_coloured ? codes[colour] : "";
}
