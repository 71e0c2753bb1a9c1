/* explain.c: `leatctl explain`: the plan of a file's stream, made here, or of one that the running
 * daemon knows, made there. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/error_json.h"
#include "client/cli/base/options.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/explain.h"
#include "pipeline/inspect/measure.h"
#include "pipeline/io/state_folder.h"
#include "pipeline/plan/data_digest.h"
#include "pipeline/work/steps.h"

static void print_plan(const char *text) {
    size_t n = strlen(text);

    printf("%s%s", text, n > 0 && text[n - 1] == '\n' ? "" : "\n");
}

static uint32_t default_workers(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (uint32_t)n : 1;
}

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) {
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t busy_ns(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* That this process may use. */
static uint32_t n_processors(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;

    return n > 0 ? (uint32_t)n : default_workers();
}

static enum leat_explain_format format_of(const struct leat_cli_arguments *arguments) {
    return arguments->json ? LEAT_EXPLAIN_JSON : (enum leat_explain_format)arguments->drawing;
}

/* What cannot be tried is explained all the same. reason: where the text of an error goes. */
static void predict(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                    uint32_t n_workers, struct leat_measurement *measurement,
                    struct leat_forecast *ret_forecast, char reason[LEAT_ERROR_PRINT_MAX]) {
    struct leat_measure_options options = {.max_bytes = LEAT_MEASURE_BYTES,
                                           .max_ns = LEAT_MEASURE_NS,
                                           .now_ns = now_ns,
                                           .busy_ns = busy_ns,
                                           .may_start_programs = arguments->measure};
    struct leat_error err = LEAT_ERROR_INIT;

    *ret_forecast = (struct leat_forecast){
        .reason = arguments->no_measure ? "--no-measure" : leat_measure_refusal(plan, &options)};
    if (ret_forecast->reason)
        return;
    if (leat_measure(plan, &leat_opener_operator, &options, measurement, &err) == 0) {
        leat_forecast_make(plan, measurement, n_workers, n_processors(), ret_forecast);
        return;
    }
    (void)leat_error_print(&err, reason, LEAT_ERROR_PRINT_MAX);
    ret_forecast->reason = reason;
}

/* Of a FILE: as the daemons of who asks would have it, which keep indexes in that user's state. */
static char *explain_plan(struct leat_plan *plan, const struct leat_cli_arguments *arguments) {
    uint32_t n_workers =
        arguments->workers.is_given ? (uint32_t)arguments->workers.value : default_workers();
    struct leat_measurement measurement = {.step_ns = NULL};
    struct leat_forecast forecast;
    struct leat_explain_options options = {.format = format_of(arguments),
                                           .n_workers = n_workers,
                                           .is_unfused = arguments->no_fuse,
                                           .forecast = &forecast};
    char reason[LEAT_ERROR_PRINT_MAX], *text;
    struct leat_state_folder indexes;

    leat_state_folder_init(&indexes, NULL, "index", ".leat", 0, 0);
    options.has_index = indexes.path[0] != '\0';
    leat_data_measure(plan, &leat_opener_operator);
    leat_steps_look(plan, &leat_opener_operator, options.has_index ? indexes.path : NULL);
    predict(plan, arguments, n_workers, &measurement, &forecast, reason);
    text = leat_explain(plan, &options);
    leat_measurement_deinit(&measurement);
    return text;
}

static int explain_spec(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    struct leat_plan *plan = NULL;
    char *text;
    int r = leat_plan_new(spec, &leat_opener_operator, &plan, err);

    if (r < 0)
        return leat_cli_error_status(err);
    text = explain_plan(plan, arguments);
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
    Leat__ControlReply *reply;
    int status;
    enum leat_explain_format format = format_of(arguments);
    static const char *const drawings[] = {"", "", "dot", "svg"};

    explain.stream = (char *)(uintptr_t)arguments->operand;
    explain.drawing = (char *)(uintptr_t)drawings[format];
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_EXPLAIN;
    request.explain = &explain;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_EXPLAIN,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    print_plan(format == LEAT_EXPLAIN_JSON ? reply->explain->json : reply->explain->text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static int explain_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return arguments->is_file ? explain_file(arguments, err) : explain_stream(arguments, err);
}

static const char *const drawings[] = {"text", "json", "dot", "svg", NULL};
static const struct leat_cli_option explain_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(drawing),
     .value = "F",
     .choices = drawings,
     .help = "what is printed: dot is for graphviz, svg a picture"},
    LEAT_CLI_OPTION_NO_FUSE,
    {.name = "measure",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(measure),
     .is_of_file = true,
     .help = "try the stream even if it has an `exec`, which starts its programs"},
    {.name = "no-measure",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(no_measure),
     .is_of_file = true,
     .help = "read no data but its head, and predict no times"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_explain_command = {
    .name = "explain",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show the plan of a stream: schema, fused stages, memory, time",
    .description =
        "Of a FILE's stream, or of a STREAM that the running daemon knows: what runs where and "
        "why, what flows\nbetween, the tensors of a batch, memory. Of a FILE's stream the times, "
        "too: its first 4 MiB are tried\nfor 0.3 s at most, on one thread (not if they come "
        "through a FIFO, and not if programs would be started).\nThey are a prediction, for an "
        "idle machine, files in its memory, and a trainer that takes batches at once.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl explain titanic.yaml train\n"
                "  leatctl explain titanic.yaml --format svg > titanic.svg\n"
                "  leatctl explain titanic.yaml --format dot | dot -Tpdf > titanic.pdf\n"
                "  leatctl explain titanic\n",
    .asks_daemon = true,
    .options = explain_options,
    .run = explain_main,
};
