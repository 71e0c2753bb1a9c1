/* stages.c: `leatctl stages`: the reference of sources, stages and stream options, from the tables
 * that the binder reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "pipeline/plan/plan.h"
#include "pipeline/spec/arg_json.h"
#include "proto/base/json_writer.h"

#define REFERENCE_MARKDOWN 2 /* of --format */
#define OPTIONS_NAME       "options"
#define OPTIONS_SUMMARY    "options of a stream, next to `source` and `stages`"

static const char *const kind_names[] = {
    [LEAT_STAGE_SOURCE] = "source",
    [LEAT_STAGE_MAP] = "map",
    [LEAT_STAGE_ORDER] = "order",
    [LEAT_STAGE_COLLATE] = "collate",
};

#define MAX_ENTRIES 256

/* A source, a stage, the stream's options, or one of these. */
struct entry {
    const char *name, *summary, *kind;
    const char *example;
    const struct leat_arg *args;
    struct leat_arg own[2]; /* args of a single option */
};

struct entries {
    struct entry items[MAX_ENTRIES];
    size_t n_items, n_listed; /* single options are not listed; they come last */
};

static void add_ops(struct entries *entries, const struct leat_stage_ops *const *ops) {
    for (; *ops && entries->n_items < MAX_ENTRIES; ops++)
        entries->items[entries->n_items++] = (struct entry){.name = (*ops)->name,
                                                            .summary = (*ops)->summary,
                                                            .kind = kind_names[(*ops)->kind],
                                                            .example = (*ops)->example,
                                                            .args = (*ops)->args};
}

static void fill_entries(struct entries *entries) {
    struct entry *entry;

    add_ops(entries, leat_sources);
    add_ops(entries, leat_stages);
    entries->items[entries->n_items++] = (struct entry){.name = OPTIONS_NAME,
                                                        .summary = OPTIONS_SUMMARY,
                                                        .kind = "options",
                                                        .args = leat_stream_args};
    entries->n_listed = entries->n_items;
    for (const struct leat_arg *arg = leat_stream_args; arg->name && entries->n_items < MAX_ENTRIES;
         arg++) {
        entry = &entries->items[entries->n_items++];
        *entry = (struct entry){.name = arg->name,
                                .kind = "option",
                                .summary =
                                    "an option of a stream, on the level of `source` and `stages`",
                                .own = {*arg, LEAT_ARGS_END}};
        entry->args = entry->own;
    }
}

/* Adds "0..9" or "a, b, c"; nothing for any value. */
static void add_range(struct leat_text *text, const struct leat_arg *arg) {
    for (size_t i = 0; arg->choices && arg->choices[i]; i++)
        leat_text_add(text, "%s%s", i ? ", " : "", arg->choices[i]);
    if (!arg->choices && (arg->min != 0 || arg->max != 0))
        leat_text_add(text, "%.15g..%.15g%s", arg->min, arg->max,
                      arg->type >= LEAT_ARG_TEXTS ? " items" : "");
}

static void add_default(struct leat_text *text, const struct leat_arg *arg) {
    if (arg->is_required)
        leat_text_add(text, "required");
    else if (!arg->fallback)
        leat_text_add(text, "-");
    else if (!arg->fallback[0] || strpbrk(arg->fallback, " ,")) /* else it could not be seen */
        leat_text_add(text, "\"%s\"", arg->fallback);
    else
        leat_text_add(text, "%s", arg->fallback);
}

#define HELP_INDENT  21
#define HELP_COLUMNS 100

/* Adds the help in lines of at most HELP_COLUMNS, cut at blanks. */
static void add_help(struct leat_text *text, const char *help) {
    const size_t room = HELP_COLUMNS - HELP_INDENT;

    while (*help) {
        size_t n = strlen(help);

        for (size_t i = 0, end = n; end > room && help[i]; i++)
            if (help[i] == ' ' && (i <= room || n == end)) /* the last that fits, or the first */
                n = i;
        leat_text_add(text, "%*s%.*s\n", HELP_INDENT, "", (int)n, help);
        help += n + (help[n] == ' ');
    }
}

/* Arguments of a group follow it as group.name. */
static void add_args_text(struct leat_text *text, const struct leat_arg *args, const char *group) {
    for (const struct leat_arg *arg = args; arg->name; arg++) {
        struct leat_text range = {.data = NULL}, standard = {.data = NULL};
        char name[64];

        (void)snprintf(name, sizeof(name), "%s%s%s", group, group[0] ? "." : "", arg->name);
        add_range(&range, arg);
        add_default(&standard, arg);
        leat_text_add(text, "  %-18s %s%s%s%s\n", name, leat_arg_type_name(arg->type),
                      range.data ? " (" : "", range.data ? range.data : "", range.data ? ")" : "");
        if (arg->is_required || arg->fallback)
            leat_text_add(text, "  %-18s %s%s\n", "",
                          arg->is_required ? "" : "default: ", standard.data);
        else
            leat_text_add(text, "  %-18s optional\n", "");
        add_help(text, arg->help);
        free(range.data);
        free(standard.data);
        if (arg->group)
            add_args_text(text, arg->group, arg->name);
    }
}

static void add_entry_text(struct leat_text *text, const struct entry *entry) {
    leat_text_add(text, "%s (%s): %s\n\n", entry->name, entry->kind, entry->summary);
    add_args_text(text, entry->args, "");
    if (entry->example)
        leat_text_add(text, "\nexample:\n  - %s: %s\n", entry->name, entry->example);
}

/* A cell of a table must not end it. */
static void add_cell(struct leat_text *text, const char *value) {
    for (; *value; value++) {
        if (*value == '|')
            leat_text_add(text, "\\");
        leat_text_add_bytes(text, value, 1);
    }
}

static void add_args_markdown(struct leat_text *text, const struct leat_arg *args,
                              const char *group) {
    for (const struct leat_arg *arg = args; arg->name; arg++) {
        leat_text_add(text, "| `%s%s%s` | %s | ", group, group[0] ? "." : "", arg->name,
                      leat_arg_type_name(arg->type));
        add_range(text, arg);
        leat_text_add(text, " | ");
        add_default(text, arg);
        leat_text_add(text, " | ");
        add_cell(text, arg->help);
        leat_text_add(text, " |\n");
        if (arg->group)
            add_args_markdown(text, arg->group, arg->name);
    }
}

static void add_entry_markdown(struct leat_text *text, const struct entry *entry) {
    leat_text_add(text, "## %s\n\n*%s*: %s\n\n", entry->name, entry->kind, entry->summary);
    leat_text_add(text,
                  "| argument | type | range | default | |\n| --- | --- | --- | --- | --- |\n");
    add_args_markdown(text, entry->args, "");
    if (entry->example)
        leat_text_add(text, "\n```yaml\n- %s: %s\n```\n", entry->name, entry->example);
    leat_text_add(text, "\n");
}

static void add_entry_json(struct leat_text *json, const struct entry *entry) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", entry->name);
    leat_json_add_text(json, "kind", entry->kind);
    leat_json_add_text(json, "summary", entry->summary);
    leat_json_add_text(json, "example", entry->example);
    leat_args_json(json, "arguments", entry->args);
    leat_json_close(json, '}');
}

static bool is_markdown(const struct leat_cli_arguments *arguments) {
    return arguments->reference == REFERENCE_MARKDOWN;
}

static void add_all(struct leat_text *text, const struct entries *entries,
                    const struct leat_cli_arguments *arguments) {
    if (arguments->json)
        leat_text_add(text, "[");
    else if (is_markdown(arguments))
        leat_text_add(text, "# Sources, stages and stream options\n\n"
                            "Generated by leat " LEAT_VERSION
                            " (`leatctl stages --format markdown`).\n\n");
    for (size_t i = 0; i < entries->n_listed; i++) {
        const struct entry *entry = &entries->items[i];

        if (arguments->json)
            add_entry_json(text, entry);
        else if (is_markdown(arguments))
            add_entry_markdown(text, entry);
        else
            leat_text_add(text, "  %-13s %-8s %s\n", entry->name, entry->kind, entry->summary);
    }
    if (arguments->json)
        leat_text_add(text, "]\n");
    else if (!is_markdown(arguments))
        leat_text_add(text, "\n"
                            "`leatctl stages NAME` shows the arguments of a source or stage. "
                            "`leatctl stages options` shows the options of a stream.\n");
}

static void add_entry(struct leat_text *text, const struct entry *entry,
                      const struct leat_cli_arguments *arguments) {
    if (arguments->json)
        add_entry_json(text, entry);
    else if (is_markdown(arguments))
        add_entry_markdown(text, entry);
    else
        add_entry_text(text, entry);
    leat_text_add(text, arguments->json ? "\n" : "");
}

static int add_one(struct leat_text *text, const struct entries *entries,
                   const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const char *names[MAX_ENTRIES], *nearest;

    for (size_t i = 0; i < entries->n_items; i++) {
        names[i] = entries->items[i].name;
        if (strcmp(names[i], arguments->operand) == 0) {
            add_entry(text, &entries->items[i], arguments);
            return LEAT_CLI_OK;
        }
    }
    nearest = leat_nearest(arguments->operand, names, entries->n_items);
    leat_error_set(err, -ENOENT, "leat has no source, stage or option \"%.64s\"%s%s%s",
                   arguments->operand,
                   nearest ? "; did you mean \"" : "; `leatctl stages` lists them",
                   nearest ? nearest : "", nearest ? "\"?" : "");
    return LEAT_CLI_USAGE;
}

static int stages_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct entries *entries = calloc(1, sizeof(*entries));
    struct leat_text text = {.data = NULL};
    int status = LEAT_CLI_OK;

    if (!entries)
        return leat_error_oom(err) < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
    fill_entries(entries);
    if (arguments->operand)
        status = add_one(&text, entries, arguments, err);
    else
        add_all(&text, entries, arguments);
    leat_cli_print(&text);
    free(entries);
    return status;
}

static const char *const references[] = {"text", "json", "markdown", NULL};
static const struct leat_cli_option stages_options[] = {
    LEAT_CLI_OPTION(CHOICE, "format", reference,
                    "output format; markdown gives the whole reference as one page", .value = "F",
                    .choices = references),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_stages_command = {
    .name = "stages",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show all sources, stages and options of a stream",
    .operand = "[STAGE]",
    .examples = "  leatctl stages\n"
                "  leatctl stages shuffle\n"
                "  leatctl stages --format markdown > stages.md\n",
    .options = stages_options,
    .run = stages_main,
};
