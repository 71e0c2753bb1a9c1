/* drain.c: `leatctl drain`: trainers leave for the next daemon, then this one stops. */
#include <stdio.h>

#include "client/cli/base/control.h"
#include "client/cli/commands.h"

#define DRAIN_TIMEOUT_S 30

int leat_cli_drain(const struct leat_cli_arguments *arguments, struct leat_error *err) {
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
