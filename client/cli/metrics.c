/* metrics.c: `leatctl metrics`: the daemon's figures for Prometheus. */
#include <string.h>

#include "client/cli/base/control.h"
#include "client/cli/base/members.h"
#include "client/cli/commands.h"

int leat_cli_metrics(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    static const char *const formats[] = {"openmetrics", "prometheus"};
    Leat__MetricsRequest metrics = LEAT__METRICS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    metrics.format = (char *)(uintptr_t)formats[arguments->metrics_format];
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
