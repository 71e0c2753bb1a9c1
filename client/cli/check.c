/* check.c: `leatctl check`: plans each stream in this process, with the files that it names; leatd
 * --check-config checks the daemon's own settings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/plan/faults.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/json_writer.h"

#define OUTPUT_MAX (256U << 10) /* of leatd */

struct check {
    const char *file;
    bool as_json;
    struct leat_text text;
    size_t n_wrong;
    bool is_placed; /* an error has a place in a file */
};

static void add_result(struct check *check, const char *what, const char *name, const char *well,
                       const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    check->n_wrong += err->code != 0;
    check->is_placed |= leat_cli_error_status(err) == LEAT_CLI_DATA;
    if (!check->as_json) {
        if (err->code)
            (void)leat_error_print(err, line, sizeof(line));
        else
            (void)snprintf(line, sizeof(line), "%s %s: ok%s%s", what, name, well[0] ? ", " : "",
                           well);
        leat_text_add_line(&check->text, "%s", line);
        return;
    }
    leat_json_open(&check->text, NULL, '{');
    leat_json_add_text(&check->text, what, name);
    leat_json_add_bool(&check->text, "ok", !err->code);
    if (err->code)
        leat_cli_error_json(&check->text, err);
    leat_json_close(&check->text, '}');
}

struct fault_context {
    struct check *check;
    const char *name;
};

static void on_fault(void *data, const struct leat_error *err) {
    const struct fault_context *stream = data;

    add_result(stream->check, stream->name ? "stream" : "file",
               stream->name ? stream->name : stream->check->file, "", err);
}

static void check_stream(struct check *check, const struct leat_spec *spec) {
    struct fault_context stream = {check, spec->name};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    char well[128] = "";

    if (leat_plan_faults(spec, on_fault, &stream) > 0)
        return;
    if (leat_pipeline_open(spec, &leat_opener_operator, &plan, &err) == 0)
        (void)snprintf(well, sizeof(well), "%zu file%s, %zu tensor%s", plan->source->files.n_paths,
                       plan->source->files.n_paths == 1 ? "" : "s", plan->n_tensors,
                       plan->n_tensors == 1 ? "" : "s");
    add_result(check, "stream", spec->name, well, &err);
    leat_plan_unref(plan);
}

/* Adds "leatd: FILE:LINE:COLUMN: error" as a result, unless it is of a stream, which has its own.
 */
static void add_line(struct check *check, const char *line) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n = strlen(check->file);
    unsigned row = 0, column = 0;
    int n_place = 0;

    if (strncmp(line, "leatd: ", 7) == 0)
        line += 7;
    if (strncmp(line, check->file, n) == 0 && line[n] == ':') {
        if (sscanf(line + n, ":%u:%u: %n", &row, &column, &n_place) < 2)
            n_place = 2;
        line += n + (size_t)n_place;
        if (row > 0 && strncmp(line, "streams", strlen("streams")) == 0)
            return;
    }
    leat_error_set(&err, -EINVAL, "%s", line);
    if (n_place > 0)
        leat_error_locate(&err, check->file, row, column);
    add_result(check, "settings", check->file, "", &err);
}

static void check_settings(struct check *check) {
    struct leat_error none = LEAT_ERROR_INIT;
    char *text = calloc(1, OUTPUT_MAX), *rest = NULL;
    int status = text ? leat_cli_daemon_check(check->file, NULL, 0, text, OUTPUT_MAX) : 1;

    if (!text)
        add_line(check, "leatd: out of memory");
    else if (status == 127)
        add_result(check, "settings", check->file,
                   "not checked, because leatctl did not find leatd", &none);
    else if (status == 0)
        add_result(check, "settings", check->file, "", &none);
    else
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            add_line(check, line);
    free(text);
}

/* 0, or -errno: the file cannot be read or is no YAML, so that there are no further results. */
static int check_file(struct check *check) {
    struct leat_value document = {.kind = LEAT_VALUE_NULL};
    struct fault_context file = {check, NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec **specs = NULL;
    size_t n_specs = 0;
    int r = leat_cli_document_load(check->file, &document, &err);

    if (r < 0)
        on_fault(&file, &err);
    else
        (void)leat_faults_read_streams(&document, check->file, &specs, &n_specs, on_fault, &file);
    for (size_t i = 0; i < n_specs; i++) {
        check_stream(check, specs[i]);
        leat_spec_free(specs[i]);
    }
    free(specs);
    leat_value_deinit(&document);
    return r;
}

static void begin_result(struct check *check) {
    if (!check->as_json)
        return;
    leat_json_open(&check->text, NULL, '{');
    leat_json_open(&check->text, "results", '[');
}

static void print_result(struct check *check) {
    if (check->as_json) {
        leat_json_close(&check->text, ']');
        leat_json_add_bool(&check->text, "ok", check->n_wrong == 0);
        leat_json_close(&check->text, '}');
        leat_text_add(&check->text, "\n");
    }
    leat_cli_print(&check->text);
}

static int check_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct check check = {.file = arguments->operand, .as_json = arguments->json};

    (void)err; /* faults are the result */
    begin_result(&check);
    if (check_file(&check) == 0)
        check_settings(&check);
    print_result(&check);
    return check.n_wrong == 0 ? LEAT_CLI_OK : check.is_placed ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
}

const struct leat_cli_command leat_cli_check_command = {
    .name = "check",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "print all errors of a file",
    .description =
        "Checks every stream, the files that it names, and the daemon's settings. Prints each\n"
        "error with its line and column.",
    .operand = "FILE",
    .examples = "  leatctl check /etc/leat/leatd.yaml\n",
    .options = leat_cli_no_options,
    .run = check_main,
};
