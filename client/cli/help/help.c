/* help.c: see help.h, and `leatctl help`. */
#include "client/cli/help/help.h"

#include <errno.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "proto/base/json_writer.h"

static const struct leat_cli_command *find_name(const struct leat_cli_command *const *commands,
                                                const char *name) {
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0)
            return *commands;
    return NULL;
}

const struct leat_cli_command *leat_cli_find_command(const struct leat_cli_command *const *commands,
                                                     const char *const *words, size_t n_words,
                                                     int *ret_n_words) {
    char name[64];
    const struct leat_cli_command *command = NULL;

    *ret_n_words = 2;
    if (n_words > 1 &&
        (size_t)snprintf(name, sizeof(name), "%s %s", words[0], words[1]) < sizeof(name))
        command = find_name(commands, name);
    if (command || n_words == 0)
        return command;
    *ret_n_words = 1;
    return find_name(commands, words[0]);
}

bool leat_cli_is_in_group(const struct leat_cli_command *command, const char *word) {
    size_t n = strlen(word);

    return n > 0 && strncmp(command->name, word, n) == 0 && command->name[n] == ' ';
}

static const struct {
    const char *name;
    const char *summary; /* of one whose commands all have two words; NULL: each has a line */
} groups[] = {
    [LEAT_CLI_GROUP_DATA] = {"data", NULL},
    [LEAT_CLI_GROUP_RUN] = {"run", NULL},
    [LEAT_CLI_GROUP_DAEMON] = {"daemon", NULL},
    [LEAT_CLI_GROUP_CACHES] = {"caches", "make, check or remove caches"},
    [LEAT_CLI_GROUP_TOKENIZERS] = {"tokenizers", "turn texts into token ids, and back"},
    [LEAT_CLI_GROUP_LEATCTL] = {"leatctl", NULL},
};

/* "cache        build, ...; commands: warm, prepare, ..." */
static void add_two_words(struct leat_text *text, const struct leat_cli_command *const *commands,
                          unsigned group, const char *on, const char *off) {
    const char *separator = "; commands: ";

    while ((*commands)->group != group)
        commands++;
    leat_text_add(text, "%-11s%s%-12.*s%s %s", groups[group].name, on,
                  (int)strcspn((*commands)->name, " "), (*commands)->name, off,
                  groups[group].summary);
    for (; *commands && (*commands)->group == group; commands++, separator = ", ")
        leat_text_add(text, "%s%s", separator, strchr((*commands)->name, ' ') + 1);
    leat_text_add(text, "\n");
}

static void add_group(struct leat_text *text, const struct leat_cli_command *const *commands,
                      unsigned group, const char *on, const char *off) {
    const char *name = groups[group].name;

    leat_text_add(text, "\n");
    if (groups[group].summary) {
        add_two_words(text, commands, group, on, off);
        return;
    }
    for (; *commands; commands++) {
        const struct leat_cli_command *command = *commands;

        if (command->group != group)
            continue;
        leat_text_add(text, "%-11s%s%-12s%s %s\n", name, on, command->name, off, command->summary);
        name = "";
    }
}

static void add_all(struct leat_text *text, const struct leat_cli_command *const *commands,
                    bool is_coloured) {
    const char *on = leat_cli_colour(is_coloured, LEAT_CLI_BOLD);
    const char *off = leat_cli_colour(is_coloured, LEAT_CLI_PLAIN);

    leat_text_add(text,
                  "leat prepares batches for training. leatctl tries out streams, and controls the "
                  "daemon leatd.\n"
                  "\n"
                  "%susage:%s leatctl [--socket DIR] [--json] COMMAND [ARGUMENT...]\n",
                  on, off);
    for (unsigned group = 0; group < LEAT_CLI_N_GROUPS; group++)
        add_group(text, commands, group, on, off);
    leat_text_add(text, "\n"
                        "`leatctl COMMAND --help` and leatctl-COMMAND(1) show more.\n");
}

void leat_cli_help_all(const struct leat_cli_command *const *commands, FILE *file) {
    struct leat_text text = {.data = NULL};

    add_all(&text, commands, leat_cli_terminal_has_colour(file));
    leat_cli_print_to(&text, file);
}

bool leat_cli_help_group(const struct leat_cli_command *const *commands, const char *word,
                         FILE *file) {
    struct leat_text text = {.data = NULL};
    int width = 0;

    for (size_t i = 0; commands[i]; i++)
        if (leat_cli_is_in_group(commands[i], word) && (int)strlen(commands[i]->name) > width)
            width = (int)strlen(commands[i]->name);
    for (; *commands; commands++)
        if (leat_cli_is_in_group(*commands, word))
            leat_text_add(&text, "%s  leatctl %-*s  %s\n", text.n_bytes ? "" : "usage:\n", width,
                          (*commands)->name, (*commands)->summary);
    if (!text.data)
        return false;
    leat_text_add(&text,
                  "\n"
                  "`leatctl %s COMMAND --help` shows more.\n",
                  word);
    leat_cli_print_to(&text, file);
    return true;
}

/* ---- JSON ---- */

static const char *const kind_names[] = {
    [LEAT_CLI_FLAG] = "flag",     [LEAT_CLI_NUMBER] = "number", [LEAT_CLI_STRING] = "text",
    [LEAT_CLI_CHOICE] = "choice", [LEAT_CLI_LIST] = "list",
};

static void add_option(struct leat_text *json, const struct leat_cli_option *option) {
    char letter[2] = {option->letter, '\0'};

    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", option->name);
    leat_json_add_text(json, "kind", kind_names[option->kind]);
    if (option->letter)
        leat_json_add_text(json, "letter", letter);
    leat_json_add_text(json, "value", option->value);
    if (option->kind == LEAT_CLI_NUMBER) {
        leat_json_add_uint(json, "min", option->min);
        leat_json_add_uint(json, "max", option->max);
    }
    if (option->choices)
        leat_json_add_texts(json, "choices", option->choices);
    leat_json_add_text(json, "help", option->help);
    leat_json_close(json, '}');
}

static void add_command(struct leat_text *json, const struct leat_cli_command *command) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", command->name);
    leat_json_add_text(json, "summary", command->summary);
    leat_json_add_text(json, "description", command->description);
    leat_json_add_text(json, "operand", command->operand);
    leat_json_add_text(json, "more", command->more);
    leat_json_add_text(json, "examples", command->examples);
    leat_json_open(json, "options", '[');
    for (const struct leat_cli_option *option = command->options; option->name; option++)
        add_option(json, option);
    for (const struct leat_cli_option *option = leat_cli_global_options; option->name; option++)
        if (leat_cli_has_option(command, option))
            add_option(json, option);
    leat_json_close(json, ']');
    leat_json_close(json, '}');
}

/* {"version": .., "commands": [..], "exits": [..]} */
static void add_all_json(const struct leat_cli_command *const *commands, struct leat_text *json) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "version", LEAT_VERSION);
    leat_json_open(json, "commands", '[');
    for (; *commands; commands++) {
        leat_json_line(json);
        add_command(json, *commands);
    }
    leat_json_close(json, ']');
    leat_json_open(json, "exits", '[');
    for (const struct leat_cli_exit *exit = leat_cli_exits; exit->text; exit++) {
        leat_json_open(json, NULL, '{');
        leat_json_add_int(json, "status", exit->status);
        leat_json_add_text(json, "text", exit->text);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

/* ---- the command ---- */

static int help_of(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const char *words[2] = {arguments->operand, arguments->n_more ? arguments->more[0] : NULL};
    struct leat_text text = {.data = NULL};
    const struct leat_cli_command *command;
    int n_words;

    command = leat_cli_find_command(arguments->commands, words, words[1] ? 2 : 1, &n_words);
    if (!command && leat_cli_help_group(arguments->commands, words[0], stdout))
        return LEAT_CLI_OK;
    if (!command) {
        leat_error_set(err, -ENOENT,
                       "there is no command \"%.64s\"; `leatctl help` lists all commands",
                       words[0]);
        return LEAT_CLI_USAGE;
    }
    if (arguments->json) {
        add_command(&text, command);
        leat_text_add(&text, "\n");
    } else {
        leat_cli_help(command, leat_cli_terminal_has_colour(stdout), &text);
    }
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}

static int help_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};

    if (arguments->operand)
        return help_of(arguments, err);
    if (arguments->json)
        add_all_json(arguments->commands, &text);
    else
        add_all(&text, arguments->commands, leat_cli_terminal_has_colour(stdout));
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_help_command = {
    .name = "help",
    .group = LEAT_CLI_GROUP_LEATCTL,
    .summary = "list the commands, or describe one",
    .description = "With --json, the command prints all commands with their options, for programs.",
    .operand = "[COMMAND]",
    .more = "[COMMAND]",
    .examples = "  leatctl help cache warm\n"
                "  leatctl help --json | jq -r '.commands[].name'\n",
    .options = leat_cli_no_options,
    .run = help_main,
};
