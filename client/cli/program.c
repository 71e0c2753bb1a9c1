/* program.c: the program: which subcommand is meant, its help, its errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/error_json.h"
#include "client/cli/interrupt.h"
#include "pipeline/bind.h"

#define MAX_COMMANDS 64

static const struct leat_cli_command *find_command(const char *name) {
    for (const struct leat_cli_command *command = leat_cli_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* Names of two words come as two. */
static const struct leat_cli_command *find_by_words(int argc, char **argv, int *ret_n_words) {
    char name[64];
    const struct leat_cli_command *command = NULL;

    *ret_n_words = 2;
    if (argc > 2 && (size_t)snprintf(name, sizeof(name), "%s %s", argv[1], argv[2]) < sizeof(name))
        command = find_command(name);
    if (command)
        return command;
    *ret_n_words = 1;
    return find_command(argv[1]);
}

static void print_text(struct leat_text *text, FILE *file) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

static void help_all(FILE *file) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "usage: leatctl COMMAND [ARGUMENT...]\n\n");
    for (const struct leat_cli_command *command = leat_cli_commands; command->name; command++)
        leat_text_add(&text, "  %-12s %s\n", command->name, command->summary);
    leat_text_add(&text, "\nleatctl COMMAND --help tells more.\n");
    print_text(&text, file);
}

/* "cache", of which there are several; false: of none. */
static bool help_group(const char *word, FILE *file) {
    struct leat_text text = {.data = NULL};
    size_t n = strlen(word);

    for (const struct leat_cli_command *command = leat_cli_commands; command->name; command++)
        if (strncmp(command->name, word, n) == 0 && command->name[n] == ' ')
            leat_text_add(&text, "%s  leatctl %-12s  %s\n", text.n_bytes ? "" : "usage:\n",
                          command->name, command->summary);
    if (!text.data)
        return false;
    leat_text_add(&text, "\nleatctl %s COMMAND --help tells more.\n", word);
    print_text(&text, file);
    return true;
}

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
    char line[LEAT_ERROR_PRINT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        (void)leat_error_print(err, line, sizeof(line));
        fprintf(stderr, "%s\n", line);
        return;
    }
    leat_text_add(&text, "{\"error\": ");
    leat_cli_error_json(&text, err);
    leat_text_add(&text, "}\n");
    print_text(&text, stderr);
}

static int run_command(const struct leat_cli_command *command, int argc, char **argv) {
    struct leat_cli_arguments arguments;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    bool wants_help = false;
    int status = leat_cli_parse(command, argc, argv, &arguments, &wants_help, &err);

    if (wants_help) {
        leat_cli_help(command, &text);
        print_text(&text, stdout);
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
    char *help[] = {(char *)(uintptr_t) "--help"};
    int n_words;

    if (!word) {
        help_all(stderr);
        return LEAT_CLI_USAGE;
    }
    if (strcmp(word, "--version") == 0)
        word = "version";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        (strcmp(word, "help") == 0 && argc == 2)) {
        help_all(stdout);
        return LEAT_CLI_OK;
    }
    if (strcmp(word, "help") == 0) {
        command = find_by_words(argc - 1, argv + 1, &n_words);
        if (!command && help_group(argv[2], stdout))
            return LEAT_CLI_OK;
        return command ? run_command(command, 1, help) : unknown_command(argv[2]);
    }
    if (strcmp(word, "version") == 0)
        argv[1] = (char *)(uintptr_t) "version";
    command = find_by_words(argc, argv, &n_words);
    if (!command && help_group(word, argc > 2 && strcmp(argv[2], "--help") == 0 ? stdout : stderr))
        return argc > 2 && strcmp(argv[2], "--help") == 0 ? LEAT_CLI_OK : LEAT_CLI_USAGE;
    return command ? run_command(command, argc - 1 - n_words, argv + 1 + n_words)
                   : unknown_command(word);
}
