/* stages.c: `leatctl stages`: the reference of sources, stages and stream options, from the very
 * tables that the binder reads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/error_json.h"
#include "client/cli/base/options.h"
#include "pipeline/plan/plan.h"
#include "pipeline/spec/arg_json.h"

#define REFERENCE_MARKDOWN 2 /* of --format */
#define OPTIONS_NAME       "options"
#define OPTIONS_SUMMARY    "options of a stream, beside `source` and `stages`"

static const char *const kind_names[] = {
    [LEAT_STAGE_SOURCE] = "source",
    [LEAT_STAGE_MAP] = "map",
    [LEAT_STAGE_ORDER] = "order",
    [LEAT_STAGE_COLLATE] = "collate",
};

/* What is listed: a source, a stage, or (ops NULL) the stream's options. */
struct entry {
    const char *name, *summary, *kind;
    const char *example;
    const struct leat_arg *args;
};

static struct entry entry_of(const struct leat_stage_ops *ops) {
    return (struct entry){.name = ops->name,
                          .summary = ops->summary,
                          .kind = kind_names[ops->kind],
                          .example = ops->example,
                          .args = ops->args};
}

static size_t list_entries(struct entry **ret_entries) {
    size_t n = 1;

    for (size_t i = 0; leat_sources[i]; i++)
        n++;
    for (size_t i = 0; leat_stages[i]; i++)
        n++;
    *ret_entries = calloc(n, sizeof(**ret_entries));
    if (!*ret_entries)
        return 0;
    n = 0;
    for (size_t i = 0; leat_sources[i]; i++)
        (*ret_entries)[n++] = entry_of(leat_sources[i]);
    for (size_t i = 0; leat_stages[i]; i++)
        (*ret_entries)[n++] = entry_of(leat_stages[i]);
    (*ret_entries)[n++] = (struct entry){.name = OPTIONS_NAME,
                                         .summary = OPTIONS_SUMMARY,
                                         .kind = "options",
                                         .args = leat_stream_args};
    return n;
}

/* "0..9", "a, b or c"; empty: anything. */
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
    else if (arg->fallback)
        leat_text_add(text, "%s", arg->fallback[0] ? arg->fallback : "\"\"");
    else
        leat_text_add(text, "-");
}

#define HELP_INDENT  21
#define HELP_COLUMNS 100

/* In lines of at most HELP_COLUMNS, cut at blanks. */
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

/* Those of a group stand behind it, as group.name. */
static void add_args_text(struct leat_text *text, const struct leat_arg *args, const char *group) {
    for (const struct leat_arg *arg = args; arg->name; arg++) {
        struct leat_text range = {.data = NULL}, standard = {.data = NULL};
        char name[64];

        (void)snprintf(name, sizeof(name), "%s%s%s", group, group[0] ? "." : "", arg->name);
        add_range(&range, arg);
        add_default(&standard, arg);
        leat_text_add(text, "  %-18s %s%s%s%s\n", name, leat_arg_type_name(arg->type),
                      range.data ? " (" : "", range.data ? range.data : "", range.data ? ")" : "");
        leat_text_add(text, "  %-18s %s%s\n", "",
                      arg->is_required ? "" : "default: ", standard.data ? standard.data : "");
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

static void add_entry_json(struct leat_text *text, const struct entry *entry) {
    leat_text_add(text, "{\"name\": \"%s\", \"kind\": \"%s\"", entry->name, entry->kind);
    leat_arg_json_text(text, "summary", entry->summary);
    leat_arg_json_text(text, "example", entry->example);
    leat_text_add(text, ", \"arguments\": ");
    leat_args_json(text, entry->args);
    leat_text_add(text, "}");
}

static bool is_markdown(const struct leat_cli_arguments *arguments) {
    return arguments->reference == REFERENCE_MARKDOWN;
}

static void add_all(struct leat_text *text, const struct entry *entries, size_t n,
                    const struct leat_cli_arguments *arguments) {
    if (arguments->json)
        leat_text_add(text, "[");
    else if (is_markdown(arguments))
        leat_text_add(text, "# Sources, stages and stream options\n\n"
                            "From the tables of leat " LEAT_VERSION
                            " (`leatctl stages --format markdown`).\n\n");
    for (size_t i = 0; i < n; i++) {
        if (arguments->json && i > 0)
            leat_text_add(text, ",\n ");
        if (arguments->json)
            add_entry_json(text, &entries[i]);
        else if (is_markdown(arguments))
            add_entry_markdown(text, &entries[i]);
        else
            leat_text_add(text, "  %-13s %-8s %s\n", entries[i].name, entries[i].kind,
                          entries[i].summary);
    }
    if (arguments->json)
        leat_text_add(text, "]\n");
    else if (!is_markdown(arguments))
        leat_text_add(text, "\nleatctl stages NAME tells the arguments of one, or of an option of "
                            "a stream (`options`: of all).\n");
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

/* One option of a stream; false: it has none of that name. */
static bool add_option(struct leat_text *text, const struct leat_cli_arguments *arguments) {
    struct leat_arg args[2] = {[1] = LEAT_ARGS_END};

    for (const struct leat_arg *arg = leat_stream_args; arg->name; arg++) {
        if (strcmp(arg->name, arguments->operand) != 0)
            continue;
        args[0] = *arg;
        add_entry(text,
                  &(struct entry){.name = arg->name,
                                  .kind = "option",
                                  .summary = "of a stream, beside `source` and `stages`",
                                  .args = args},
                  arguments);
        return true;
    }
    return false;
}

static void set_unknown(const char *name, const struct entry *entries, size_t n,
                        struct leat_error *err) {
    size_t n_names = n;
    const char **names, *nearest;

    for (const struct leat_arg *arg = leat_stream_args; arg->name; arg++)
        n_names++;
    names = calloc(n_names, sizeof(*names));
    n_names = 0;
    for (size_t i = 0; names && i < n; i++)
        names[n_names++] = entries[i].name;
    for (const struct leat_arg *arg = leat_stream_args; names && arg->name; arg++)
        names[n_names++] = arg->name;
    nearest = names ? leat_nearest(name, names, n_names) : NULL;
    leat_error_set(err, -ENOENT, "there is no source, stage or option \"%.64s\"%s%s%s", name,
                   nearest ? "; did you mean \"" : "; `leatctl stages` lists them",
                   nearest ? nearest : "", nearest ? "\"?" : "");
    free(names);
}

static int add_one(struct leat_text *text, const struct entry *entries, size_t n,
                   const struct leat_cli_arguments *arguments, struct leat_error *err) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(entries[i].name, arguments->operand) == 0) {
            add_entry(text, &entries[i], arguments);
            return LEAT_CLI_OK;
        }
    }
    if (add_option(text, arguments))
        return LEAT_CLI_OK;
    set_unknown(arguments->operand, entries, n, err);
    return LEAT_CLI_USAGE;
}

static int stages_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    struct entry *entries = NULL;
    size_t n = list_entries(&entries);
    int status = LEAT_CLI_OK;

    if (n == 0) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    if (arguments->operand)
        status = add_one(&text, entries, n, arguments, err);
    else
        add_all(&text, entries, n, arguments);
    if (text.data)
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    free(entries);
    return status;
}

static const char *const references[] = {"text", "json", "markdown", NULL};
static const struct leat_cli_option stages_options[] = {
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(reference),
     .value = "F",
     .choices = references,
     .help = "what is printed: markdown is the reference page"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_stages_command = {
    .name = "stages",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "reference of sources, stages and stream options",
    .operand = "[STAGE]",
    .examples = "  leatctl stages\n"
                "  leatctl stages shuffle\n"
                "  leatctl stages --format markdown > stages.md\n",
    .options = stages_options,
    .run = stages_main,
};
