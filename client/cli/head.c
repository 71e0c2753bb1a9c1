/* head.c: `leatctl head`: the first records after a stage. leat_head() makes a line of JSON for
 * each; people get one field a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/head.h"

#define DEFAULT_RECORDS 3

/* The length of the JSON value at `text`, which leat_head() has made and so is well-formed. */
static size_t json_length(const char *text) {
    bool is_string = false;
    size_t depth = 0, i = 0;

    for (; text[i]; i++) {
        char c = text[i];

        if (is_string && c == '\\' && text[i + 1])
            i++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '[' || c == '{'))
            depth++;
        else if (!is_string && depth > 0 && (c == ']' || c == '}'))
            depth--;
        else if (!is_string && depth == 0 && (c == ',' || c == '}' || c == ':'))
            break;
    }
    return i;
}

/* Prints {"a": 1, "b": [2]} as one field a line. */
static void print_record(const char *line, uint64_t number) {
    const char *at = line + 1;

    printf("record %llu\n", (unsigned long long)number);
    while (*at && *at != '}' && *at != '\n') {
        size_t n_name = json_length(at);
        const char *value = at + n_name + (at[n_name] == ':');
        size_t n_value;

        value += strspn(value, " ");
        n_value = json_length(value);
        if (n_name < 2)
            return;
        printf("  %-16.*s %.*s\n", (int)n_name - 2, at + 1, (int)n_value, value);
        at = value + n_value;
        at += strspn(at, ", ");
    }
}

static void print_records(const struct leat_text *text) {
    const char *line = text->data;
    uint64_t number = 0;

    while (line && *line) {
        print_record(line, ++number);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Explains missing records. */
static void print_bad(const struct leat_head_bad *bad) {
    char line[LEAT_ERROR_PRINT_MAX];

    if (bad->n_skipped == 0)
        return;
    (void)leat_error_print(&bad->first, line, sizeof(line));
    (void)fflush(stdout);
    (void)fprintf(stderr, "leatctl: skipped %llu bad record%s. The first is: %s\n",
                  (unsigned long long)bad->n_skipped, bad->n_skipped == 1 ? "" : "s", line);
}

static int print_head(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                      struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    int stage = (int)spec->n_stages - 1;
    int status = LEAT_CLI_OK;
    struct leat_head_bad bad;
    int r;

    if (arguments->after)
        status = leat_cli_find_stage(spec, arguments->after, &stage, err);
    if (status != LEAT_CLI_OK)
        return status;
    r = leat_head(spec, &leat_opener_operator, stage,
                  arguments->records.is_given ? arguments->records.value : DEFAULT_RECORDS, &text,
                  &bad, err);
    if (arguments->json)
        leat_cli_print(&text);
    else
        print_records(&text);
    if (r == 0)
        print_bad(&bad);
    free(text.data);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int head_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return leat_cli_spec_with(arguments, print_head, err);
}

static const struct leat_cli_option head_options[] = {
    LEAT_CLI_OPTION(NUMBER, "records", records, "number of records to print (default 3)",
                    .letter = 'n', .value = "N", .min = 1, .max = 1000000),
    LEAT_CLI_OPTION(STRING, "after", after,
                    "print the records after this stage: `source`, `tokenize`, `pad[2]` for the "
                    "second `pad`, or the number of a stage, from 0 (default: the last stage)",
                    .value = "STAGE"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_head_command = {
    .name = "head",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "print the first records after a stage",
    .description = "Runs the source and the per-record stages in this process. It skips stages "
                   "that order or batch records, because these stages do not change records.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl head titanic.yaml -n 3 --after tokenize\n"
                "  leatctl head titanic.yaml --after source --json\n",
    .options = head_options,
    .run = head_main,
};
