/* help.h: the list of commands, for people and for programs; the manual pages are made of it. Lists
 * of commands end with NULL. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "client/cli/base/arguments.h"

/* Finds the command whose name of one or two words (*ret_n_words) is first. NULL: there is none. */
const struct leat_cli_command *leat_cli_find_command(const struct leat_cli_command *const *commands,
                                                     const char *const *words, size_t n_words,
                                                     int *ret_n_words);
/* True if the command's name has two words and that is the first. */
bool leat_cli_is_in_group(const struct leat_cli_command *command, const char *word);

void leat_cli_help_all(const struct leat_cli_command *const *commands, FILE *file);
/* Prints the commands whose first word that is. False: there are none. */
bool leat_cli_help_group(const struct leat_cli_command *const *commands, const char *word,
                         FILE *file);
