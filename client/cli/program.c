/* program.c: the program: which subcommand is meant, its errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/colour.h"
#include "client/cli/commands.h"
#include "client/cli/error_json.h"
#include "client/cli/help.h"
#include "client/cli/interrupt.h"
#include "client/cli/members.h"
#include "client/cli/terminal.h"
#include "pipeline/spec/bind.h"

#define MAX_COMMANDS 64

static int unknown_command(const char *word) {
    const char *names[MAX_COMMANDS];
    const char *nearest;
    size_t n = 0;

    while (n < MAX_COMMANDS && leat_cli_commands[n].name) {
        names[n] = leat_cli_commands[n].name;
        n++;
    }
    nearest = leat_nearest(word, names, n);
    fprintf(stderr, "leatctl: unknown command \"%s\"%s%s%s (leatctl --help)\n", word,
            nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return LEAT_CLI_USAGE;
}

static void print_error(const struct leat_error *err, bool as_json) {
    bool is_coloured = leat_cli_terminal_has_colour(stderr);
    char line[LEAT_ERROR_PRINT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        (void)leat_error_print(err, line, sizeof(line));
        leat_text_add(&text, "%s%s%s\n", leat_cli_colour(is_coloured, LEAT_CLI_RED), line,
                      leat_cli_colour(is_coloured, LEAT_CLI_PLAIN));
    } else {
        leat_text_add(&text, "{\"error\": ");
        leat_cli_error_json(&text, err);
        leat_text_add(&text, "}\n");
    }
    leat_cli_print_to(&text, stderr);
}

static int run_command(const struct leat_cli_command *command, int argc, char **argv) {
    struct leat_cli_arguments arguments;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    bool wants_help = false;
    int status = leat_cli_parse(command, argc, argv, &arguments, &wants_help, &err);

    if (wants_help) {
        leat_cli_help(command, leat_cli_terminal_has_colour(stdout), &text);
        leat_cli_print(&text);
        return LEAT_CLI_OK;
    }
    if (status == LEAT_CLI_OK)
        status = command->run(&arguments, &err);
    if (err.code && !leat_cli_interrupt_was_pipe())
        print_error(&err, status != LEAT_CLI_USAGE &&
                              (arguments.json || arguments.format != LEAT_CLI_TEXT));
    if (fflush(stdout) != 0 && !leat_cli_interrupt_was_pipe() && status == LEAT_CLI_OK) {
        fprintf(stderr, "leatctl: writing the output: %s\n", strerror(errno));
        status = LEAT_CLI_FAILURE;
    }
    return status;
}

int leat_cli_main(int argc, char **argv) {
    const struct leat_cli_command *command;
    const char *word = argc > 1 ? argv[1] : NULL;
    bool wants_help = argc > 2 && strcmp(argv[2], "--help") == 0;
    int n_words;

    if (!word) {
        leat_cli_help_all(stderr);
        return LEAT_CLI_USAGE;
    }
    if (strcmp(word, "--version") == 0)
        argv[1] = (char *)(uintptr_t) "version";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        argv[1] = (char *)(uintptr_t) "help";
    command = leat_cli_find_command((const char *const *)argv + 1, (size_t)(argc - 1), &n_words);
    if (!command && leat_cli_help_group(word, wants_help ? stdout : stderr))
        return wants_help ? LEAT_CLI_OK : LEAT_CLI_USAGE;
    return command ? run_command(command, argc - 1 - n_words, argv + 1 + n_words)
                   : unknown_command(word);
}
