/* why.c: `leatctl why`: what bounds a stream of the daemon, which looks at its counters all along.
 */
#include <errno.h>
#include <stdio.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"

int leat_cli_why(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    bool is_unreachable = false;

    why.stream = (char *)(uintptr_t)arguments->operand;
    why.interval_ms = arguments->seconds.is_given ? (uint32_t)(arguments->seconds.value * 1000) : 0;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_WHY;
    request.why = &why;
    if (leat_cli_control(NULL, &request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, &is_unreachable,
                         err) < 0)
        return is_unreachable ? LEAT_CLI_UNREACHABLE : LEAT_CLI_FAILURE;
    if (reply->verb_case == LEAT__CONTROL_REPLY__VERB_WHY)
        printf(arguments->json ? "%s\n" : "%s",
               arguments->json ? reply->why->json : reply->why->text);
    else
        leat_error_set(err, -EPROTO, "the daemon answered something else");
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}
