/* drain.c: `leatctl drain`: trainers leave for the next daemon, then this one stops. */
#include <stdio.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/options.h"

#define DRAIN_TIMEOUT_S 30

static int drain_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__DrainRequest drain = LEAT__DRAIN_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    drain.timeout_ms =
        1000 * (uint32_t)(arguments->timeout.is_given ? arguments->timeout.value : DRAIN_TIMEOUT_S);
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_DRAIN;
    request.drain = &drain;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_DONE,
                             (int)drain.timeout_ms + LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    printf("%s\n", arguments->json ? "{\"ok\": true}" : "drained");
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static const struct leat_cli_option drain_options[] = {
    {.name = "timeout",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(timeout),
     .value = "S",
     .max = 86400,
     .help = "seconds after which the daemon stops all the same (default 30)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_drain_command = {
    .name = "drain",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "let trainers leave for the next daemon, then stop this one",
    .examples = "  leatctl drain --timeout 60\n",
    .asks_daemon = true,
    .options = drain_options,
    .run = drain_main,
};
