/* explain.c: `leatctl explain`: the plan of a file's stream, made in this process, or of a stream
 * of the daemon, made there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/checkpoint.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/explain.h"
#include "pipeline/inspect/measure.h"
#include "pipeline/io/state_folder.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/calls.h"
#include "proto/base/clock.h"

static enum leat_explain_format format_of(const struct leat_cli_arguments *arguments) {
    return arguments->json ? LEAT_EXPLAIN_JSON : (enum leat_explain_format)arguments->drawing;
}

/* Without a measurement the plan is explained as well. `reason` receives the text of an error. */
static void predict_times(const struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                          uint32_t n_workers, struct leat_measurement *measurement,
                          struct leat_forecast *ret_forecast, char reason[LEAT_ERROR_PRINT_MAX]) {
    struct leat_measure_options options = {.max_bytes = LEAT_MEASURE_BYTES,
                                           .max_ns = LEAT_MEASURE_NS,
                                           .now_ns = leat_now_ns,
                                           .busy_ns = leat_thread_ns,
                                           .may_start_programs = arguments->measure};
    struct leat_error err = LEAT_ERROR_INIT;

    *ret_forecast = (struct leat_forecast){
        .reason = arguments->no_measure ? "--no-measure" : leat_measure_refusal(plan, &options)};
    if (ret_forecast->reason)
        return;
    if (leat_measure(plan, &leat_opener_operator, &options, measurement, &err) == 0) {
        leat_forecast_make(plan, measurement, n_workers, leat_n_cpus(), ret_forecast);
        return;
    }
    (void)leat_error_print(&err, reason, LEAT_ERROR_PRINT_MAX);
    ret_forecast->reason = reason;
}

/* Reads --ranks, as 3 or 0-7, and --world-size. */
static int parse_ranks(const struct leat_cli_arguments *arguments,
                       struct leat_node_ranks *ret_ranks, struct leat_error *err) {
    uint64_t world_size = arguments->world_size.value;
    unsigned first = 0, last = 0;
    int n_read = 0, n_first = 0, n_fields;

    *ret_ranks = (struct leat_node_ranks){.n = 1, .world_size = world_size};
    if (!arguments->ranks)
        return 0;
    if (world_size == 0)
        return leat_error_set(err, -EINVAL, "with --ranks, also give --world-size");
    n_fields = sscanf(arguments->ranks, "%9u%n-%9u%n", &first, &n_first, &last, &n_read);
    if (n_fields == 1) {
        last = first;
        n_read = n_first;
    }
    if (n_fields < 1 || arguments->ranks[0] < '0' || arguments->ranks[0] > '9' ||
        arguments->ranks[n_read] || last < first || last >= world_size)
        return leat_error_set(err, -EINVAL,
                              "--ranks: \"%s\" is neither a rank such as 3 nor a range such as "
                              "0-7; ranks go from 0 to %llu",
                              arguments->ranks, (unsigned long long)world_size - 1);
    ret_ranks->first = first;
    ret_ranks->n = (uint64_t)last - first + 1;
    return 0;
}

/* Explains the plan of a FILE as a daemon of this user would run it, with the user's indexes. */
static char *explain_plan(struct leat_plan *plan, const struct leat_cli_arguments *arguments,
                          const struct leat_node_ranks *ranks) {
    uint32_t n_workers =
        arguments->workers.is_given ? (uint32_t)arguments->workers.value : leat_n_cpus();
    struct leat_measurement measurement = {.step_ns = NULL};
    struct leat_forecast forecast;
    struct leat_explain_options options = {.format = format_of(arguments),
                                           .n_workers = n_workers,
                                           .is_unfused = arguments->no_fuse,
                                           .forecast = &forecast,
                                           .ranks = *ranks};
    char reason[LEAT_ERROR_PRINT_MAX], *text;
    struct leat_state_folder indexes;

    leat_state_folder_init(&indexes, NULL, "index", ".leat", 0, 0);
    options.has_index = indexes.path[0] != '\0';
    if (plan->cache_path) /* whose key is of the data */
        (void)leat_cli_identify_data(plan, &leat_opener_operator, LEAT_ERROR_IGNORED);
    leat_plan_measure_data(plan, &leat_opener_operator);
    leat_steps_find_rows(plan, &leat_opener_operator, options.has_index ? indexes.path : NULL);
    predict_times(plan, arguments, n_workers, &measurement, &forecast, reason);
    text = leat_explain(plan, &options);
    leat_measurement_deinit(&measurement);
    return text;
}

static int explain_spec(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    struct leat_plan *plan = NULL;
    struct leat_node_ranks ranks;
    char *text;

    if (parse_ranks(arguments, &ranks, err) < 0)
        return LEAT_CLI_USAGE;
    if (leat_pipeline_open(spec, &leat_opener_operator, &plan, err) < 0)
        return leat_cli_error_status(err);
    text = explain_plan(plan, arguments, &ranks);
    leat_plan_unref(plan);
    if (!text) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    printf("%s%s", text, arguments->json ? "\n" : "");
    free(text);
    return LEAT_CLI_OK;
}

static const char *const drawings[] = {"text", "json", "dot", "svg", NULL};

static void add_plan(struct leat_text *text, const void *reply,
                     const struct leat_cli_arguments *arguments) {
    const Leat__ExplainReply *explain = reply;

    leat_text_add(text, "%s", arguments->json ? explain->json : explain->text);
}

static int explain_stream(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__ExplainRequest explain = LEAT__EXPLAIN_REQUEST__INIT;
    enum leat_explain_format format = format_of(arguments);

    explain.stream = (char *)(uintptr_t)arguments->operand;
    if (format == LEAT_EXPLAIN_DOT || format == LEAT_EXPLAIN_SVG)
        explain.drawing = (char *)(uintptr_t)drawings[format];
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_EXPLAIN,
                                                    .message = &explain,
                                                    .add_text = add_plan,
                                                    .add_json = add_plan},
                        arguments, err);
}

static int explain_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return arguments->is_file ? leat_cli_spec_with(arguments, explain_spec, err)
                              : explain_stream(arguments, err);
}

static const struct leat_cli_option explain_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION(CHOICE, "format", drawing,
                    "output format; dot is for graphviz, svg is a picture", .value = "F",
                    .choices = drawings),
    LEAT_CLI_OPTION_NO_FUSE,
    LEAT_CLI_OPTION(FLAG, "measure", measure,
                    "predict times even if the prediction starts programs (stage `exec`)",
                    .is_of_file = true),
    LEAT_CLI_OPTION(FLAG, "no-measure", no_measure,
                    "read only the beginning of the data, and predict no times",
                    .is_of_file = true),
    LEAT_CLI_OPTION(NUMBER, "world-size", world_size,
                    "show what one node needs in a cluster with W ranks", .value = "W", .min = 1,
                    .max = UINT32_MAX, .is_of_file = true),
    LEAT_CLI_OPTION(STRING, "ranks", ranks,
                    "the ranks that run on this node, such as 3 or 0-7 (default: 0)",
                    .value = "A[-B]", .is_of_file = true),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_explain_command = {
    .name = "explain",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show how leat runs a stream: fields, stages, memory, time",
    .description =
        "Shows how leat runs a stream of a FILE, or a STREAM of the running daemon. It shows\n"
        "which threads run each stage, and why. It also shows the data between stages, the\n"
        "tensors of a batch, and the memory use.\n"
        "\n"
        "For a FILE, it also predicts times. To do so, it processes the first 4 MiB of the\n"
        "data on one thread, for at most 0.3 s. It predicts nothing if the data comes through\n"
        "a FIFO, or if the stream starts programs. The prediction assumes that the machine is\n"
        "idle, the files are in memory, and the trainer takes each batch immediately.\n"
        "\n"
        "With --world-size, it shows what one node of a cluster needs: CPU, bytes, requests\n"
        "and memory. It also suggests a value for the argument `lanes` of the stage `shuffle`.",
    .operand = "FILE|STREAM",
    .more = "[STREAM]",
    .examples = "  leatctl explain titanic.yaml train\n"
                "  leatctl explain titanic.yaml --format svg > titanic.svg\n"
                "  leatctl explain titanic.yaml --format dot | dot -Tpdf > titanic.pdf\n"
                "  leatctl explain titanic.yaml --world-size 64 --ranks 0-7\n"
                "  leatctl explain titanic\n",
    .asks_daemon = true,
    .options = explain_options,
    .run = explain_main,
};
