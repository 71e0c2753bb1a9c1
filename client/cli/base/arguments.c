/* arguments.c: see arguments.h. Options are --name VALUE, --name=VALUE, -n VALUE or -nVALUE, in any
 * order with operands; "--" ends them. */
#include "client/cli/base/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/output.h"
#include "pipeline/spec/bind.h"

#define MAX_OPTIONS 32
#define HELP_COLUMN 26

const struct leat_cli_option leat_cli_global_options[] = {
    LEAT_CLI_OPTION(STRING, "socket", socket,
                    "folder of the daemon's sockets (default: $LEAT_SOCKET, else "
                    "$XDG_RUNTIME_DIR/leat, else /run/leat)",
                    .value = "DIR"),
    LEAT_CLI_OPTION(FLAG, "json", json, "print JSON"),
    LEAT_CLI_OPTION_END,
};

const char *const leat_cli_deliveries[] = {"shared", "copy", NULL};

const struct leat_cli_option leat_cli_no_options[] = {LEAT_CLI_OPTION_END};

struct parser {
    const struct leat_cli_command *command;
    struct leat_cli_arguments *arguments;
    const struct leat_cli_option *of_file; /* a given option that is_of_file; NULL: none */
    const struct leat_cli_option *format;  /* --format, if it was given and can be json */
    int argc;
    char **argv;
    int at; /* the next word */
    struct leat_error *err;
};

static int fail_usage(struct parser *parser, const char *what, const char *word, const char *hint) {
    leat_error_set(parser->err, -EINVAL, "leatctl %s: %s \"%s\"%s%s%s (leatctl %s --help)",
                   parser->command->name, what, word, hint ? "; did you mean \"" : "",
                   hint ? hint : "", hint ? "\"?" : "", parser->command->name);
    return LEAT_CLI_USAGE;
}

bool leat_cli_has_option(const struct leat_cli_command *command,
                         const struct leat_cli_option *global) {
    return command->asks_daemon || strcmp(global->name, "socket") != 0;
}

static const struct leat_cli_option *find_in(const struct leat_cli_option *options,
                                             const char *name, size_t n) {
    for (; options->name; options++)
        if (strlen(options->name) == n && memcmp(options->name, name, n) == 0)
            return options;
    return NULL;
}

static const struct leat_cli_option *find_name(const struct leat_cli_command *command,
                                               const char *name, size_t n) {
    const struct leat_cli_option *option = find_in(command->options, name, n);

    return option ? option : find_in(leat_cli_global_options, name, n);
}

const struct leat_cli_option *leat_cli_find_option(const struct leat_cli_command *command,
                                                   const char *word, size_t n_bytes) {
    if (n_bytes > 2 && word[0] == '-' && word[1] == '-')
        return find_name(command, word + 2, n_bytes - 2);
    for (const struct leat_cli_option *option = command->options; option->name; option++)
        if (n_bytes == 2 && word[0] == '-' && option->letter && option->letter == word[1])
            return option;
    return NULL;
}

size_t leat_cli_count_leading(const char *const *words, size_t n_words) {
    size_t n = 0;

    while (n < n_words) {
        if (strcmp(words[n], "--json") == 0 || strncmp(words[n], "--socket=", 9) == 0)
            n++;
        else if (strcmp(words[n], "--socket") == 0 && n + 1 < n_words)
            n += 2;
        else
            break;
    }
    return n;
}

static bool takes_stream(const struct leat_cli_command *command) {
    return command->more && strcmp(command->more, "[STREAM]") == 0;
}

static int fail_option(struct parser *parser, const char *word) {
    const char *names[MAX_OPTIONS + 1];
    const char *nearest;
    char name[64], hint[80];
    size_t n = 0;

    if (takes_stream(parser->command) && strncmp(word, "--stream", 8) == 0)
        return fail_usage(parser, "write the stream after its FILE, without", "--stream", NULL);

    for (const struct leat_cli_option *option = parser->command->options;
         option->name && n < MAX_OPTIONS; option++)
        names[n++] = option->name;
    names[n++] = "json";
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
                   word + strspn(word, "-"));
    nearest = leat_nearest(name, names, n);
    if (nearest)
        (void)snprintf(hint, sizeof(hint), "--%s", nearest);
    return fail_usage(parser, "unknown option", word, nearest ? hint : NULL);
}

static int fail_value(struct parser *parser, const struct leat_cli_option *option,
                      const char *value, const char *wanted) {
    leat_error_set(parser->err, -EINVAL, "leatctl %s: --%s: \"%s\" is not %s",
                   parser->command->name, option->name, value, wanted);
    return LEAT_CLI_USAGE;
}

static int set_number(struct parser *parser, const struct leat_cli_option *option,
                      const char *value) {
    struct leat_cli_number *number =
        (struct leat_cli_number *)(void *)((char *)parser->arguments + option->offset);
    char wanted[80];
    char *end = NULL;

    errno = 0;
    number->value = strtoull(value, &end, 10);
    number->is_given = true;
    if (value[0] >= '0' && value[0] <= '9' && !*end && errno == 0 && number->value >= option->min &&
        number->value <= option->max)
        return 0;
    if (option->max == UINT64_MAX)
        (void)snprintf(wanted, sizeof(wanted), "a whole number of at least %llu",
                       (unsigned long long)option->min);
    else
        (void)snprintf(wanted, sizeof(wanted), "a whole number in %llu..%llu",
                       (unsigned long long)option->min, (unsigned long long)option->max);
    return fail_value(parser, option, value, wanted);
}

static int set_choice(struct parser *parser, const struct leat_cli_option *option,
                      const char *value) {
    unsigned *index = (unsigned *)(void *)((char *)parser->arguments + option->offset);
    char wanted[128] = "one of";

    for (unsigned i = 0; option->choices[i]; i++) {
        size_t n = strlen(wanted);

        if (strcmp(option->choices[i], value) == 0) {
            *index = i;
            return 0;
        }
        (void)snprintf(wanted + n, sizeof(wanted) - n, "%s %s", i ? "," : "", option->choices[i]);
    }
    return fail_value(parser, option, value, wanted);
}

static int add_string(struct parser *parser, const struct leat_cli_option *option,
                      const char *value) {
    struct leat_cli_strings *strings =
        (struct leat_cli_strings *)(void *)((char *)parser->arguments + option->offset);
    char wanted[64];

    if (strings->n_items < LEAT_CLI_STRINGS_MAX) {
        strings->items[strings->n_items++] = value;
        return 0;
    }
    (void)snprintf(wanted, sizeof(wanted), "accepted: give this option at most %d times",
                   LEAT_CLI_STRINGS_MAX);
    return fail_value(parser, option, value, wanted);
}

static bool can_be_json(const struct leat_cli_option *option) {
    for (size_t i = 0; strcmp(option->name, "format") == 0 && option->choices[i]; i++)
        if (strcmp(option->choices[i], "json") == 0)
            return true;
    return false;
}

static int set_option(struct parser *parser, const struct leat_cli_option *option,
                      const char *value) {
    char *member = (char *)parser->arguments + option->offset;

    if (option->is_of_file)
        parser->of_file = option;
    if (option->kind == LEAT_CLI_CHOICE && can_be_json(option))
        parser->format = option;
    switch (option->kind) {
    case LEAT_CLI_FLAG:
        *(bool *)member = true;
        return 0;
    case LEAT_CLI_NUMBER:
        return set_number(parser, option, value);
    case LEAT_CLI_CHOICE:
        return set_choice(parser, option, value);
    case LEAT_CLI_LIST:
        return add_string(parser, option, value);
    case LEAT_CLI_STRING:
        break;
    }
    memcpy(member, &value, sizeof(value));
    return 0;
}

/* `attached`: the value in the same word, or NULL. */
static int take_option(struct parser *parser, const struct leat_cli_option *option,
                       const char *attached) {
    if (option->kind == LEAT_CLI_FLAG)
        return attached ? fail_usage(parser, "this option takes no value:", option->name, NULL)
                        : set_option(parser, option, NULL);
    if (!attached && parser->at == parser->argc)
        return fail_usage(parser, "give a value after", parser->argv[parser->at - 1], NULL);
    return set_option(parser, option, attached ? attached : parser->argv[parser->at++]);
}

static int take_long(struct parser *parser, const char *word) {
    size_t n = strcspn(word + 2, "=");
    const struct leat_cli_option *option = leat_cli_find_option(parser->command, word, n + 2);

    if (!option)
        return fail_option(parser, word);
    if (!leat_cli_has_option(parser->command, option))
        return fail_usage(parser, "this command does not connect to a daemon, so leave out",
                          "--socket", NULL);
    return take_option(parser, option, word[2 + n] ? word + 2 + n + 1 : NULL);
}

static int take_short(struct parser *parser, const char *word) {
    const struct leat_cli_option *option = leat_cli_find_option(parser->command, word, 2);

    if (!option)
        return fail_option(parser, word);
    return take_option(parser, option, word[2] ? word + 2 : NULL);
}

static int take_operand(struct parser *parser, const char *word) {
    struct leat_cli_arguments *arguments = parser->arguments;

    if (parser->command->operand && !arguments->operand)
        arguments->operand = word;
    else if (takes_stream(parser->command) && !arguments->stream)
        arguments->stream = word;
    else if (takes_stream(parser->command))
        return fail_usage(parser, "unexpected argument", word, NULL);
    else if (parser->command->more && arguments->n_more < LEAT_CLI_MORE_MAX)
        arguments->more[arguments->n_more++] = word;
    else
        return fail_usage(parser, "unexpected argument", word, NULL);
    return 0;
}

/* --json means --format json where that exists. */
static int settle_format(struct parser *parser) {
    const struct leat_cli_option *format = parser->format;
    const unsigned *index;

    if (!format)
        return 0;
    index = (const unsigned *)(const void *)((const char *)parser->arguments + format->offset);
    if (strcmp(format->choices[*index], "json") == 0)
        parser->arguments->json = true;
    else if (parser->arguments->json)
        return fail_usage(parser, "leave out --json, because you also gave --format",
                          format->choices[*index], NULL);
    return 0;
}

bool leat_cli_is_stream_file(const char *operand) {
    const char *point = strrchr(operand, '.');
    struct stat status;

    if (strchr(operand, '/') || (point && strcmp(point, ".yaml") == 0) ||
        (point && strcmp(point, ".yml") == 0))
        return true;
    return stat(operand, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* Decides if the operand is a FILE or a STREAM of the daemon, which takes fewer options. */
static int settle_operand(struct parser *parser) {
    const struct leat_cli_command *command = parser->command;
    struct leat_cli_arguments *arguments = parser->arguments;

    if (command->operand && command->operand[0] != '[' && !arguments->operand)
        return fail_usage(parser, "an argument is missing:", command->operand, NULL);
    if (!command->operand || strcmp(command->operand, "FILE|STREAM") != 0)
        return 0;
    arguments->is_file = !arguments->socket && leat_cli_is_stream_file(arguments->operand);
    if (!arguments->is_file && takes_stream(command) && arguments->stream)
        return fail_usage(parser, "after a STREAM of the daemon, leave out the argument",
                          arguments->stream, NULL);
    if (!arguments->is_file && parser->of_file)
        return fail_usage(parser, "this option is for a FILE, not for a STREAM of the daemon:",
                          parser->of_file->name, NULL);
    return 0;
}

int leat_cli_parse(const struct leat_cli_command *command, int argc, char **argv,
                   struct leat_cli_arguments *ret_arguments, bool *ret_wants_help,
                   struct leat_error *err) {
    struct parser parser = {
        .command = command, .arguments = ret_arguments, .argc = argc, .argv = argv, .err = err};
    bool has_ended = false;
    int r = 0;

    *ret_arguments = (struct leat_cli_arguments){.operand = NULL};
    *ret_wants_help = false;
    while (r == 0 && parser.at < argc) {
        const char *word = argv[parser.at++];

        if (!has_ended && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            *ret_wants_help = true;
            return 0;
        }
        if (!has_ended && strcmp(word, "--") == 0)
            has_ended = true;
        else if (!has_ended && strncmp(word, "--", 2) == 0)
            r = take_long(&parser, word);
        else if (!has_ended && word[0] == '-' && word[1])
            r = take_short(&parser, word);
        else
            r = take_operand(&parser, word);
    }
    if (r == 0)
        r = settle_format(&parser);
    return r == 0 ? settle_operand(&parser) : r;
}

static void add_option_help(const struct leat_cli_option *option, struct leat_text *text) {
    char left[80];
    int n;

    n = snprintf(left, sizeof(left), "  --%s%s%s", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
    if (option->letter && n > 0 && (size_t)n < sizeof(left))
        (void)snprintf(left + n, sizeof(left) - (size_t)n, ", -%c", option->letter);
    leat_text_add(text, "%-*s %s", HELP_COLUMN, left, option->help);
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        leat_text_add(text, "%s%s", i ? ", " : "; one of ", option->choices[i]);
    leat_text_add(text, "\n");
}

static void add_exits_help(struct leat_text *text) {
    for (const struct leat_cli_exit *exit = leat_cli_exits; exit->text; exit++)
        leat_text_add(text, "%s%d %s", exit == leat_cli_exits ? " " : ", ", exit->status,
                      exit->text);
    leat_text_add(text, "\n");
}

void leat_cli_help(const struct leat_cli_command *command, bool is_coloured,
                   struct leat_text *text) {
    const char *on = leat_cli_colour(is_coloured, LEAT_CLI_BOLD);
    const char *off = leat_cli_colour(is_coloured, LEAT_CLI_PLAIN);

    leat_text_add(text, "%susage:%s leatctl %s%s%s%s%s%s\n\n%s\n", on, off, command->name,
                  command->operand ? " " : "", command->operand ? command->operand : "",
                  command->more ? " " : "", command->more ? command->more : "", " [OPTION...]",
                  command->summary);
    if (command->description)
        leat_text_add(text, "\n%s\n", command->description);
    leat_text_add(text, "\n%soptions:%s\n", on, off);
    for (const struct leat_cli_option *option = command->options; option->name; option++)
        add_option_help(option, text);
    for (const struct leat_cli_option *option = leat_cli_global_options; option->name; option++)
        if (leat_cli_has_option(command, option))
            add_option_help(option, text);
    leat_text_add(text, "%-*s show this help\n", HELP_COLUMN, "  --help, -h");
    if (command->examples)
        leat_text_add(text, "\n%sexamples:%s\n%s", on, off, command->examples);
    leat_text_add(text, "\n%sexit status:%s", on, off);
    add_exits_help(text);
}
