/* complete.h: candidates for the last word of a command line, from the tables of commands and
 * options and from the running daemon. Owner: the one thread. */
#pragma once

#include <stddef.h>

#include "client/cli/base/arguments.h"
#include "proto/base/text.h"

/* The candidates that the shell itself adds. */
enum leat_cli_complete_with {
    LEAT_CLI_WITH_WORDS, /* nothing */
    LEAT_CLI_WITH_FILES,
    LEAT_CLI_WITH_FOLDERS,
    LEAT_CLI_WITH_USERS,
};

struct leat_cli_completion {
    enum leat_cli_complete_with with;
    struct leat_text text; /* lines of the word, a tab and its description; free it */
};

/* words: those after "leatctl"; the last one is completed and may be empty. Words that a shell has
 * split at "=" (`--format`, `=`, `js`) are joined. */
void leat_cli_complete(const struct leat_cli_command *const *commands, const char *const *words,
                       size_t n_words, struct leat_cli_completion *ret_completion);
