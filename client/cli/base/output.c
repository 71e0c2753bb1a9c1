#include "client/cli/base/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_incomplete;

void leat_cli_print_to(struct leat_text *text, FILE *file) {
    is_incomplete |= text->failed && file != stderr;
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

void leat_cli_print(struct leat_text *text) {
    leat_cli_print_to(text, stdout);
}

bool leat_cli_print_failed(void) {
    return is_incomplete;
}

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

const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour) {
    static const char *const codes[] = {
        [LEAT_CLI_PLAIN] = "\033[0m",
        [LEAT_CLI_BOLD] = "\033[1m",
        [LEAT_CLI_RED] = "\033[1;31m",
    };

    return is_coloured ? codes[colour] : "";
}
