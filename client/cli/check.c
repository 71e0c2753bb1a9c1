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
#include "pipeline/plan/plan.h"

struct check {
    const char *file;
    bool as_json;
    struct leat_text text;
    size_t n_wrong, n_told;
};

static void tell(struct check *check, const char *what, const char *name, const char *well,
                 const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    check->n_wrong += err->code != 0;
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

static void check_stream(struct check *check, const struct leat_spec *spec) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    char well[128] = "";

    if (leat_plan_check(spec, &err) == 0 &&
        leat_plan_new(spec, &leat_opener_operator, &plan, &err) == 0)
        (void)snprintf(well, sizeof(well), "%zu file%s, %zu tensor%s", plan->source->files.n_paths,
                       plan->source->files.n_paths == 1 ? "" : "s", plan->n_tensors,
                       plan->n_tensors == 1 ? "" : "s");
    tell(check, "stream", spec->name, well, &err);
    leat_plan_unref(plan);
}

static void check_settings(struct check *check) {
    struct leat_error err = LEAT_ERROR_INIT;
    char text[LEAT_ERROR_MESSAGE_MAX];
    int status = leat_cli_daemon_check(check->file, NULL, 0, text, sizeof(text));

    text[strcspn(text, "\n")] = '\0';
    if (status == 127) {
        tell(check, "settings", check->file, "but not looked at: leatd was not found", &err);
        return;
    }
    if (status != 0)
        leat_error_set(&err, -EINVAL, "%s", text);
    tell(check, "settings", check->file, "", &err);
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
    struct leat_error file_error = LEAT_ERROR_INIT;
    struct leat_cli_streams streams;

    (void)err; /* what is wrong is the result */
    if (leat_cli_streams_load(check.file, &streams, &file_error) < 0)
        tell(&check, "file", check.file, "", &file_error);
    for (size_t i = 0; i < streams.n_specs; i++)
        check_stream(&check, streams.specs[i]);
    leat_cli_streams_deinit(&streams);
    if (check.n_wrong == 0)
        check_settings(&check);
    print_result(&check);
    return check.n_wrong ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

const struct leat_cli_command leat_cli_check_command = {
    .name = "check",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "say everything that is wrong with a file",
    .description = "Checks every stream, with the files that it names, and the daemon's settings. "
                   "Exit status 1\n"
                   "(never 3) if anything is wrong.",
    .operand = "FILE",
    .examples = "  leatctl check /etc/leat/leatd.yaml\n",
    .options = leat_cli_no_options,
    .run = check_main,
};
