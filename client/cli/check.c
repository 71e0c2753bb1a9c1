/* check.c: `leatctl check`: each stream is planned here, with the files that it names; the daemon's
 * own settings are leatd's to judge (leatd --check-config). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/plan/faults.h"
#include "pipeline/plan/plan.h"

#define OUTPUT_MAX (256U << 10) /* of leatd */

struct check {
    const char *file;
    bool as_json;
    struct leat_text text;
    size_t n_wrong, n_told;
    bool is_placed; /* what is wrong has a place in a file */
};

static void tell(struct check *check, const char *what, const char *name, const char *well,
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
    leat_text_add(&check->text, "%s{\"%s\": ", check->n_told++ ? ", " : "", what);
    leat_text_add_json(&check->text, name, strlen(name));
    leat_text_add(&check->text, ", \"ok\": %s", err->code ? "false" : "true");
    if (err->code) {
        leat_text_add(&check->text, ", \"error\": ");
        leat_cli_error_json(&check->text, err);
    }
    leat_text_add(&check->text, "}");
}

struct of_stream {
    struct check *check;
    const char *name;
};

static void tell_fault(void *data, const struct leat_error *err) {
    const struct of_stream *stream = data;

    tell(stream->check, stream->name ? "stream" : "file",
         stream->name ? stream->name : stream->check->file, "", err);
}

static void check_stream(struct check *check, const struct leat_spec *spec) {
    struct of_stream stream = {check, spec->name};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    char well[128] = "";

    if (leat_plan_faults(spec, tell_fault, &stream) > 0)
        return;
    if (leat_plan_new(spec, &leat_opener_operator, &plan, &err) == 0)
        (void)snprintf(well, sizeof(well), "%zu file%s, %zu tensor%s", plan->source->files.n_paths,
                       plan->source->files.n_paths == 1 ? "" : "s", plan->n_tensors,
                       plan->n_tensors == 1 ? "" : "s");
    tell(check, "stream", spec->name, well, &err);
    leat_plan_unref(plan);
}

/* "leatd: FILE:LINE:COLUMN: what is wrong", of which what is of a stream was told before. */
static void tell_line(struct check *check, const char *line) {
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
    tell(check, "settings", check->file, "", &err);
}

static void check_settings(struct check *check) {
    struct leat_error none = LEAT_ERROR_INIT;
    char *text = calloc(1, OUTPUT_MAX), *rest = NULL;
    int status = text ? leat_cli_daemon_check(check->file, NULL, 0, text, OUTPUT_MAX) : 127;

    if (status == 127)
        tell(check, "settings", check->file, "but not looked at: leatd was not found", &none);
    else if (status == 0)
        tell(check, "settings", check->file, "", &none);
    else
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            tell_line(check, line);
    free(text);
}

/* 0, or -errno: it cannot be read, or is no YAML, and nothing else can be told. */
static int check_file(struct check *check) {
    struct leat_value document = {.kind = LEAT_VALUE_NULL};
    struct of_stream file = {check, NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec **specs = NULL;
    size_t n_specs = 0;
    int r = leat_cli_document_load(check->file, &document, &err);

    if (r < 0)
        tell_fault(&file, &err);
    else
        (void)leat_faults_read_streams(&document, check->file, &specs, &n_specs, tell_fault, &file);
    for (size_t i = 0; i < n_specs; i++) {
        check_stream(check, specs[i]);
        leat_spec_free(specs[i]);
    }
    free(specs);
    leat_value_deinit(&document);
    return r;
}

static void print_result(struct check *check) {
    if (check->as_json)
        printf("{\"ok\": %s, \"results\": [%s]}\n", check->n_wrong ? "false" : "true",
               check->text.data ? check->text.data : "");
    else if (check->text.data)
        (void)fwrite(check->text.data, 1, check->text.n_bytes, stdout);
    free(check->text.data);
}

static int check_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct check check = {.file = arguments->operand, .as_json = arguments->json};

    (void)err; /* what is wrong is the result */
    if (check_file(&check) == 0)
        check_settings(&check);
    print_result(&check);
    return check.n_wrong == 0 ? LEAT_CLI_OK : check.is_placed ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
}

const struct leat_cli_command leat_cli_check_command = {
    .name = "check",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "say everything that is wrong with a file",
    .description = "Checks every stream, with the files that it names, and the daemon's settings, "
                   "and tells all that\nis wrong, each with its line and column.",
    .operand = "FILE",
    .examples = "  leatctl check /etc/leat/leatd.yaml\n",
    .options = leat_cli_no_options,
    .run = check_main,
};
