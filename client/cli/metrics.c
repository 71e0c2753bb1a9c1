/* metrics.c: `leatctl metrics`: the daemon's figures for Prometheus. */
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/base/options.h"

static const char *const metrics_formats[] = {"openmetrics", "prometheus", NULL};

static int metrics_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__MetricsRequest metrics = LEAT__METRICS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    metrics.format = (char *)(uintptr_t)metrics_formats[arguments->metrics_format];
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_METRICS;
    request.metrics = &metrics;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_METRICS,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (arguments->json) {
        leat_text_add(&text, "{\"format\": \"%s\", \"text\": ", metrics.format);
        leat_text_add_json(&text, reply->metrics->text, strlen(reply->metrics->text));
        leat_text_add(&text, "}\n");
    } else {
        leat_text_add(&text, "%s", reply->metrics->text);
    }
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static const struct leat_cli_option metrics_options[] = {
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(metrics_format),
     .value = "F",
     .choices = metrics_formats,
     .help = "OpenMetrics 1.0, or Prometheus' text format 0.0.4 (default: openmetrics)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_metrics_command = {
    .name = "metrics",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "print the daemon's figures for Prometheus",
    .description =
        "As the listener of the setting http_listen gives them at /metrics, but of this moment. "
        "For a machine\nwithout that listener: a timer that writes them to the textfile "
        "collector of node_exporter.",
    .examples = "  leatctl metrics\n"
                "  leatctl metrics --format prometheus | promtool check metrics\n",
    .asks_daemon = true,
    .options = metrics_options,
    .run = metrics_main,
};
