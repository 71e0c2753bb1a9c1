#include "client/cli/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/help/help.h"
#include "pipeline/spec/bind.h"
#include "proto/base/json_writer.h"

#define LEAT_CLI_COMMAND(name) extern const struct leat_cli_command leat_cli_##name##_command;
#include "client/cli/commands.def"
#undef LEAT_CLI_COMMAND

const struct leat_cli_command *const leat_cli_commands[] = {
#define LEAT_CLI_COMMAND(name) &leat_cli_##name##_command,
#include "client/cli/commands.def"
#undef LEAT_CLI_COMMAND
    NULL,
};

#define MAX_COMMANDS 64

/* Words that users try for commands with other names. */
static const struct {
    const char *name, *place;
} places[] = {
    {"decode", "leatctl tokenizer decode"},          {"history", "leatctl stats --since"},
    {"protocol", "the manual page leat-control(7)"}, {"quota", "leatctl streams --users"},
    {"tokenize", "leatctl tokenizer encode"},        {"trainers", "leatctl streams --trainers"},
};

static int unknown_command(const char *word) {
    const char *names[MAX_COMMANDS];
    const char *nearest;
    size_t n = 0;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strcmp(places[i].name, word) != 0)
            continue;
        fprintf(stderr, "leatctl: there is no command \"%s\"; see %s\n", word, places[i].place);
        return LEAT_CLI_USAGE;
    }

    while (n < MAX_COMMANDS && leat_cli_commands[n]) {
        names[n] = leat_cli_commands[n]->name;
        n++;
    }
    nearest = leat_nearest(word, names, n);
    fprintf(stderr, "leatctl: there is no command \"%s\"%s%s%s (leatctl --help)\n", word,
            nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    return LEAT_CLI_USAGE;
}

/* Tells an error even if there is no memory. */
static void print_error(const struct leat_error *err, bool as_json) {
    bool is_coloured = leat_cli_terminal_has_colour(stderr);
    char line[LEAT_ERROR_PRINT_MAX];
    struct leat_text text = {.data = NULL};

    if (as_json) {
        leat_json_open(&text, NULL, '{');
        leat_cli_error_json(&text, err);
        leat_text_add(&text, "}\n");
    }
    if (!as_json || text.failed) {
        (void)leat_error_print(err, line, sizeof(line));
        (void)fprintf(stderr, "%s%s%s\n", leat_cli_colour(is_coloured, LEAT_CLI_RED), line,
                      leat_cli_colour(is_coloured, LEAT_CLI_PLAIN));
        free(text.data);
        return;
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
    arguments.commands = leat_cli_commands;
    if (status == LEAT_CLI_OK && arguments.socket &&
        setenv("LEAT_SOCKET", arguments.socket, 1) < 0) /* for libleat, too */
        status = leat_error_oom(&err) < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
    if (status == LEAT_CLI_OK)
        status = command->run(&arguments, &err);
    if (err.code && !leat_cli_interrupt_was_pipe())
        print_error(&err, status != LEAT_CLI_USAGE &&
                              (arguments.json || arguments.format != LEAT_CLI_TEXT));
    if (fflush(stdout) != 0 && !leat_cli_interrupt_was_pipe() && status == LEAT_CLI_OK) {
        fprintf(stderr, "leatctl: cannot write the output: %s\n", strerror(errno));
        status = LEAT_CLI_FAILURE;
    }
    if (leat_cli_print_failed() && status == LEAT_CLI_OK) {
        fprintf(stderr, "leatctl: out of memory, so the output is incomplete\n");
        status = LEAT_CLI_FAILURE;
    }
    return status;
}

static int run_words(const char *const *words, size_t n_words, int argc, char **argv) {
    const struct leat_cli_command *command;
    bool wants_help = n_words > 1 && strcmp(words[1], "--help") == 0;
    int n_name;

    command = leat_cli_find_command(leat_cli_commands, words, n_words, &n_name);
    if (!command && leat_cli_help_group(leat_cli_commands, words[0], wants_help ? stdout : stderr))
        return wants_help ? LEAT_CLI_OK : LEAT_CLI_USAGE;
    if (!command)
        return unknown_command(words[0]);
    /* options before the command are parsed with those after it */
    memmove(argv + n_name, argv, sizeof(*argv) * (size_t)(argc - (int)n_words));
    return run_command(command, argc - n_name, argv + n_name);
}

int leat_cli_main(int argc, char **argv) {
    size_t n_all = argc > 1 ? (size_t)argc - 1 : 0;
    size_t n_leading = leat_cli_count_leading((const char *const *)argv + 1, n_all);
    char **words = argv + 1 + n_leading;

    if (n_leading == n_all) {
        leat_cli_help_all(leat_cli_commands, stderr);
        return LEAT_CLI_USAGE;
    }
    if (strcmp(words[0], "--version") == 0)
        words[0] = (char *)(uintptr_t) "version";
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0)
        words[0] = (char *)(uintptr_t) "help";
    return run_words((const char *const *)words, n_all - n_leading, (int)n_all, argv + 1);
}
