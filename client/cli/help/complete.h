/* complete.h: what may stand in the place of the last word of a command line, by the tables of
 * commands and options, and by the daemon that runs. Owner: the one thread. */
#pragma once

#include <stddef.h>

#include "client/cli/base/arguments.h"
#include "proto/base/text.h"

/* What the shell itself knows, and adds. */
enum leat_cli_complete_with {
    LEAT_CLI_WITH_WORDS, /* nothing */
    LEAT_CLI_WITH_FILES,
    LEAT_CLI_WITH_FOLDERS,
    LEAT_CLI_WITH_USERS,
};

struct leat_cli_completion {
    enum leat_cli_complete_with with;
    struct leat_text text; /* a line for each: the word, a tab, what it is; to be freed */
};

/* words: those behind "leatctl"; the last is the one to be completed, and may be empty. One that a
 * shell cut at "=" (`--format`, `=`, `js`) is taken as it was meant. */
void leat_cli_complete(const struct leat_cli_command *const *commands, const char *const *words,
                       size_t n_words, struct leat_cli_completion *ret_completion);
