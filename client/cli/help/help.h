/* help.h: the commands for people and for programs: completion and the manual pages are made of it.
 * Lists of commands end with NULL. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "client/cli/base/arguments.h"

/* The command that words begin with, of one word or two: *ret_n_words. NULL: none. */
const struct leat_cli_command *leat_cli_find_command(const struct leat_cli_command *const *commands,
                                                     const char *const *words, size_t n_words,
                                                     int *ret_n_words);
/* Whether a command's name has two words, of which that is the first. */
bool leat_cli_is_in_group(const struct leat_cli_command *command, const char *word);

void leat_cli_help_all(const struct leat_cli_command *const *commands, FILE *file);
/* Of "cache", of which there are several; false: of none. */
bool leat_cli_help_group(const struct leat_cli_command *const *commands, const char *word,
                         FILE *file);
/* {"version": .., "commands": [..], "exits": [..]}. */
void leat_cli_help_json(const struct leat_cli_command *const *commands, struct leat_text *text);
