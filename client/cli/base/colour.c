/* colour.c: see colour.h, and "Select Graphic Rendition" in ECMA-48. */
#include "client/cli/base/colour.h"

const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour) {
    static const char *const codes[] = {
        [LEAT_CLI_PLAIN] = "\033[0m",
        [LEAT_CLI_BOLD] = "\033[1m",
        [LEAT_CLI_RED] = "\033[1;31m",
    };

    return is_coloured ? codes[colour] : "";
}
