/* head.c: `leatctl head`: the first records after a stage. leat_head() gives a JSON object a line;
 * for people each is laid out as one field a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/error_json.h"
#include "client/cli/base/options.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/head.h"

#define DEFAULT_RECORDS 3

/* The length of the JSON value at `text`, which is well-formed: our own renderer made it. */
static size_t value_length(const char *text) {
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

/* {"a": 1, "b": [2]} as one field a line. */
static void print_record(const char *line, uint64_t number) {
    const char *at = line + 1;

    printf("record %llu\n", (unsigned long long)number);
    while (*at && *at != '}' && *at != '\n') {
        size_t n_name = value_length(at);
        const char *value = at + n_name + (at[n_name] == ':');
        size_t n_value;

        value += strspn(value, " ");
        n_value = value_length(value);
        if (n_name < 2)
            return;
        printf("  %-16.*s %.*s\n", (int)n_name - 2, at + 1, (int)n_value, value);
        at = value + n_value;
        at += strspn(at, ", ");
    }
}

static void print_records(const struct leat_text *text, bool as_json) {
    const char *line = text->data;
    uint64_t number = 0;

    if (as_json && line)
        (void)fwrite(line, 1, text->n_bytes, stdout);
    while (!as_json && line && *line) {
        print_record(line, ++number);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* Beside the records: whoever looks for one that is missing sees why. */
static void tell_bad(const struct leat_head_bad *bad) {
    char line[LEAT_ERROR_PRINT_MAX];

    if (bad->n_skipped == 0)
        return;
    (void)leat_error_print(&bad->first, line, sizeof(line));
    (void)fflush(stdout);
    (void)fprintf(stderr, "leatctl: %llu bad record%s passed over; the first: %s\n",
                  (unsigned long long)bad->n_skipped, bad->n_skipped == 1 ? " is" : "s are", line);
}

static int head(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
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
    print_records(&text, arguments->json);
    if (r == 0)
        tell_bad(&bad);
    free(text.data);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int head_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    status = spec ? head(spec, arguments, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static const struct leat_cli_option head_options[] = {
    {.name = "records",
     .letter = 'n',
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(records),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "how many records (default 3)"},
    {.name = "after",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(after),
     .value = "STAGE",
     .help = "`source`, a stage's name, `pad[2]` for the second of that name, or its index from 0 "
             "(default: the last)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_head_command = {
    .name = "head",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "print the first records as they are after a stage",
    .description = "Runs the source and the per-record stages in this process. Stages that order "
                   "or batch change\nno record: behind them records are as before them.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl head titanic.yaml -n 3 --after tokenize\n"
                "  leatctl head titanic.yaml --after source --json\n",
    .options = head_options,
    .run = head_main,
};
