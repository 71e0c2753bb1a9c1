/* explain.c: `leatctl explain`: the plan of a file's stream, made here, or of one that the running
 * daemon knows, made there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"
#include "client/cli/error_json.h"
#include "client/cli/stream_file.h"
#include "pipeline/plan.h"

static bool is_file(const char *operand) {
    struct stat status;

    return strchr(operand, '/') || strchr(operand, '.') || stat(operand, &status) == 0;
}

static void print_plan(const char *text) {
    size_t n = strlen(text);

    printf("%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n");
}

static uint32_t default_workers(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (uint32_t)n : 1;
}

static int explain_spec(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    uint32_t n_workers =
        arguments->workers.is_given ? (uint32_t)arguments->workers.value : default_workers();
    struct leat_plan *plan = NULL;
    char *text;
    int r = leat_plan_new(spec, &leat_opener_operator, &plan, err);

    if (r < 0)
        return leat_cli_error_status(err);
    text = leat_plan_explain(plan, n_workers, arguments->json);
    leat_plan_unref(plan);
    if (!text) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    print_plan(text);
    free(text);
    return LEAT_CLI_OK;
}

static int explain_file(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    int status;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    status = spec ? explain_spec(spec, arguments, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static int explain_stream(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__ExplainRequest explain = LEAT__EXPLAIN_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    bool is_unreachable = false;

    explain.stream = (char *)(uintptr_t)arguments->operand;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_EXPLAIN;
    request.explain = &explain;
    if (leat_cli_control(NULL, &request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, &is_unreachable,
                         err) < 0)
        return is_unreachable ? LEAT_CLI_UNREACHABLE : leat_cli_error_status(err);
    if (reply->verb_case == LEAT__CONTROL_REPLY__VERB_EXPLAIN)
        print_plan(arguments->json ? reply->explain->json : reply->explain->text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

int leat_cli_explain(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    if (is_file(arguments->operand))
        return explain_file(arguments, err);
    return explain_stream(arguments, err);
}
