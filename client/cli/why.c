/* why.c: `leatctl why`: what bounds a stream of the daemon, which looks at its counters all along.
 */
#include <stdio.h>

#include "client/cli/base/control.h"
#include "client/cli/commands.h"

int leat_cli_why(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    why.stream = (char *)(uintptr_t)arguments->operand;
    why.interval_ms = arguments->seconds.is_given ? (uint32_t)(arguments->seconds.value * 1000) : 0;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_WHY;
    request.why = &why;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_WHY,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (reply)
        printf(arguments->json ? "%s\n" : "%s",
               arguments->json ? reply->why->json : reply->why->text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}
