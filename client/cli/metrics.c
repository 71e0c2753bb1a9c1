/* metrics.c: `leatctl metrics`: the daemon's figures for Prometheus. */
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "proto/base/json_writer.h"

static const char *const metrics_formats[] = {"openmetrics", "prometheus", NULL};

static void add_metrics(struct leat_text *text, const void *reply,
                        const struct leat_cli_arguments *arguments) {
    const Leat__MetricsReply *metrics = reply;

    if (!arguments->json) {
        leat_text_add_bytes(text, metrics->text, strlen(metrics->text));
        return;
    }
    leat_json_open(text, NULL, '{');
    leat_json_add_text(text, "format", metrics_formats[arguments->metrics_format]);
    leat_json_add_text(text, "text", metrics->text);
    leat_json_close(text, '}');
}

static int metrics_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__MetricsRequest metrics = LEAT__METRICS_REQUEST__INIT;

    metrics.format = (char *)(uintptr_t)metrics_formats[arguments->metrics_format];
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_METRICS,
                                                    .message = &metrics,
                                                    .add_text = add_metrics,
                                                    .add_json = add_metrics},
                        arguments, err);
}

static const struct leat_cli_option metrics_options[] = {
    LEAT_CLI_OPTION(CHOICE, "format", metrics_format,
                    "OpenMetrics 1.0, or Prometheus' text format 0.0.4 (default: openmetrics)",
                    .value = "F", .choices = metrics_formats),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_metrics_command = {
    .name = "metrics",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "print the daemon's metrics for Prometheus",
    .description =
        "Prints the current metrics. The daemon's HTTP listener (setting http_listen) gives\n"
        "the same metrics at /metrics. If your daemon has no such listener, run this command\n"
        "from a timer. Write its output to a file for the textfile collector of node_exporter.",
    .examples = "  leatctl metrics\n"
                "  leatctl metrics --format prometheus | promtool check metrics\n",
    .asks_daemon = true,
    .options = metrics_options,
    .run = metrics_main,
};
